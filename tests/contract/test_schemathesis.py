"""Check the application against the whole OpenAPI document with schemathesis, in this process.

Valid and invalid values of every parameter and body field, undefined methods, answers without a
credential. ``-m "not full"`` takes every sixth of the systematic cases and few random ones.
"""

import json
import math
import uuid
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from functools import cache as cache_in_memory
from pathlib import Path

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from django.utils import timezone
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.config import SchemathesisConfig
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from accounts.passkey_models import Passkey
from accounts.remembered_devices import services as remembered_devices
from accounts.visitor import Visitor
from audit.storage.ingest import ship
from gatewall.api import rate
from gatewall.policy import system_settings
from policies.models import DevicePass, Grant, RequestForAccess
from tests.api.resources import KINDS, make
from tests.contract.meanings import MEANT
from tests.support.form import by_form
from tests.support.records import a_record
from tests.support.spool_shipping import spooled

pytestmark = pytest.mark.django_db

DOCUMENT = json.loads((Path(__file__).resolve().parents[2] / "docs" / "openapi.json").read_text())
OPERATIONS = [(path, verb) for path, verbs in DOCUMENT["paths"].items() for verb in verbs]
POSITIVE, NEGATIVE = GenerationMode.POSITIVE, GenerationMode.NEGATIVE


def takes_values(path, verb):
    """Return whether the operation has a body or parameters, so that a value can be invalid."""
    operation = DOCUMENT["paths"][path][verb]
    parameters = operation.get("parameters", ())
    return "requestBody" in operation or any(parameter["in"] != "header" for parameter in parameters)


LONG_FORM = [
    (mode, *each) for mode in (POSITIVE, NEGATIVE) for each in OPERATIONS if mode is POSITIVE or takes_values(*each)
]
SHORT, LONG = 3, 24
"""Random cases per operation, by form of the test run."""
ONE_IN = by_form(full=3, default=6)


def application(environ, start_response):
    """Call the control plane; imported here because its import queries the database."""
    from gatewall import wsgi  # noqa: PLC0415

    return wsgi.application(environ, start_response)


HOW = SchemathesisConfig.from_dict(
    {
        # The tests set the credentials: a random one can only be refused, which ignored_auth checks.
        "generation": {"with-security-parameters": False, "deterministic": True, "max-examples": SHORT},
        "checks": {
            "negative_data_rejection": {"expected-statuses": [400, 401, 403, 404, 405, 406, 409, 412, 415, 429]}
        },
    }
)
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=HOW)
SCHEMA.app = application

HYPOTHESIS = settings(
    database=None,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
counted: Counter[str] = Counter()


def requested_access(grant):
    """Create an access request for the user and the domain of a grant."""
    given = Grant.objects.get(pk=grant)
    asked = {"host": given.domain.name, "path": "/", "reason": "x", "asked_at": timezone.now()}
    made = RequestForAccess.objects.create(user=given.user, domain=given.domain, decision_id=uuid.uuid4(), **asked)
    return made.pk


@pytest.fixture
def row(wall, admin, bob, monkeypatch, tmp_path):
    """Return a function that creates a row on first use and returns its value for a path."""
    monkeypatch.setattr(rate, "_remembered", (math.inf, 1_000_000))
    own = f"/users/{bob.pk}"

    def session():
        wall.a_token(bob)
        return admin.get(f"{own}/sessions").json()["results"][0]["jti"]

    def revision():
        make(admin, KINDS[0])
        return admin.get("/policy/revisions").json()["results"][-1]["number"]

    def backtest():
        draft = {"resource": "ip-black-list", "values": {"ip": "203.0.113.77"}}
        return admin.post("/policy/backtest", draft).json()["id"]

    def plan():
        return admin.post("/policy/plan", {"document": "version: 1"}).json()["id"]

    def granted(path, **body):
        admin.post("/authorized-domains", {"name": "granted.example.com"})
        until = (timezone.now() + timedelta(days=1)).isoformat()
        return admin.post(path, {**body, "domain": "granted.example.com", "expires_at": until}).json()["id"]

    def webhook():
        return row("/webhooks/{id}")

    def delivery():
        return admin.post(f"/webhooks/{row('/webhooks/{webhook_id}')}/test", {}).json()["id"]

    def remembered_device():
        system_settings.change(actor="test", remember_device_days=30)
        remembered_devices.remember(bob, visitor=Visitor("203.0.113.7", "tests"), at=timezone.now())
        return bob.remembered_devices.get().pk

    def answer():
        spooled(tmp_path / "spool", [a_record(1)])
        ship(tmp_path / "spool")
        return a_record(1).decision_id

    makers = {
        **{f"{kind.path}/{{id}}": lambda kind=kind: make(admin, kind)[0]["id"] for kind in KINDS},
        "/users/{user_id}": lambda: bob.pk,
        "/users/{user_id}/git-tokens/{id}": lambda: admin.post(f"{own}/git-tokens", {"name": "laptop"}).json()["id"],
        "/users/{user_id}/app-tokens/{id}": lambda: admin.post(
            f"{own}/app-tokens", {"name": "calendar", "all_domains": True}
        ).json()["id"],
        "/users/{user_id}/device-passes/{id}": lambda: (
            DevicePass.objects.create(
                user=bob,
                domain=Grant.objects.get(pk=row("/grants/{id}")).domain,
                address="203.0.113.7",
                program="Kodi",
                expires_at=timezone.now() + timedelta(hours=1),
            ).pk
        ),
        "/users/{user_id}/passkeys/{id}": lambda: (
            Passkey.objects.create(
                user=bob, name="laptop", credential_id="id", public_key="key", user_handle="handle", rp_id="example.com"
            ).pk
        ),
        "/users/{user_id}/remembered-devices/{id}": remembered_device,
        "/users/{user_id}/totp-devices/{id}": lambda: (
            bob.totp_devices.create(name="phone", created_at=timezone.now(), confirmed_at=timezone.now()).pk
        ),
        "/api-tokens/{id}": lambda: admin.post("/api-tokens", {"name": "ci", "scopes": ["logs:read"]}).json()["id"],
        "/users/{user_id}/sessions/{jti}": session,
        "/policy/revisions/{id}": revision,
        "/policy/backtest/{id}": backtest,
        "/policy/plan/{id}": plan,
        "/access-logs/{decision_id}": answer,
        "/grants/{id}": lambda: granted("/grants", user=bob.username),
        "/access-requests/{id}": lambda: requested_access(row("/grants/{id}")),
        "/share-links/{id}": lambda: granted("/share-links", name="Anna"),
        "/app-profiles/{name}": lambda: "miniflux",
        "/webhooks/{webhook_id}": webhook,
        "/webhooks/{webhook_id}/deliveries/{id}": delivery,
    }
    row = cache_in_memory(lambda path: makers[path]())
    return row


@pytest.fixture
def ask(wall, alice, row):
    """Return a function that sends a case as Alice and checks the answer; its writes are rolled back."""

    def ask(case, more=(only_what_no_schema_can_say,)):
        cache.clear()
        if case.path_parameters and not case.meta.is_negative_at(ParameterLocation.PATH):
            for name in case.path_parameters:
                case.path_parameters[name] = row(case.path.partition(f"{{{name}}}")[0] + f"{{{name}}}")
        if not case.meta.is_negative_at(ParameterLocation.HEADER):
            case.headers.pop("If-Match", None)  # a stale ETag would be refused before the body is checked
        with transaction.atomic(), kept_connection():
            ways["used"] += 1
            by_cookie = ways["used"] % 2
            case.call_and_validate(
                headers={"Cookie": f"service.token={token}"} if by_cookie else {"Service-Authorization": token},
                excluded_checks=[positive_data_acceptance],
                additional_checks=list(more),
            )
            transaction.set_rollback(True)

    token, ways = wall.a_token(alice), {"used": 0}
    return ask


@contextmanager
def kept_connection():
    """Keep the connection of the test's transaction open, like Django's test client."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    try:
        yield
    finally:
        request_started.connect(close_old_connections)
        request_finished.connect(close_old_connections)


def only_what_no_schema_can_say(context, response, case):
    """Assert that valid data is refused only for reasons that a schema cannot express."""
    if case.meta.generation.mode.is_positive and response.status_code == 400:
        errors = [error for error in response.json()["errors"] if error["code"] not in {"read-only", "unregistered"}]
        errors = [error for error in errors if not error["message"].startswith("there is no ")]  # example rows
        fields = [error["field"].removeprefix("credential.").removeprefix("rule.") for error in errors]
        refused = {field.partition(".")[0] for field in fields}
        refused = {name.removeprefix("exclude_") for name in refused}
        refused = {name for name in refused if not name.endswith(("_after", "_before"))}  # years below 1000
        if case.path.startswith(
            ("/authorized-domains", "/groups", "/list-subscriptions", "/system/doctor", "/webhooks")
        ):
            refused -= {"name", "url", "kinds", "least_severity"}
        if case.path.startswith("/identity-providers"):
            refused -= {
                "slug",
                "issuer",
                "scopes",
                "username_claim",
                "groups_claim",
                "group_map",
                "allowed_email_domains",
            }
        if case.path.startswith("/grants"):
            refused -= {"user", "group"}  # exactly one of the two is required
        if case.path == "/waf-rules/batch":
            refused.discard("enabled")  # this or the action is required
        body = case.body if isinstance(case.body, dict) else {}
        body = {**body, **(body.get("rule") or {})}
        refused -= {name for name in refused if isinstance(body.get(name), float)}  # 5.0 is a valid integer
        assert refused <= MEANT, response.json()


@SCHEMA.parametrize()
@HYPOTHESIS
def test_answers_conform_to_the_document(case, ask):
    label, is_usual = case.operation.label, case.method == case.operation.method.upper()
    counted[label] += 1
    if is_usual and case.meta.phase.name.name == "COVERAGE" and counted[label] % ONE_IN:
        return
    ask(case)


@pytest.mark.full
@pytest.mark.parametrize(("mode", "path", "verb"), LONG_FORM)
def test_answers_to_many_random_requests_conform_to_the_document(mode, path, verb, ask):
    @given(SCHEMA[path][verb].as_strategy(generation_mode=mode))
    @settings(HYPOTHESIS, max_examples=LONG)
    def every(case):
        ask(case, more=())  # random texts also contain characters that are forbidden in their field

    every()
