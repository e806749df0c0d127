"""``/webhooks``: secrets shown once, test messages, resent deliveries, and refused values."""

import base64
import json

import pytest

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.models import PolicyRevision
from tests.api.resources import fields_refused
from webhooks import services
from webhooks.models import Delivery, Webhook

pytestmark = pytest.mark.django_db
URL = "https://receiver.example/hook"


@pytest.fixture
def hook(admin):
    """Create a webhook; return the response body."""
    return admin.post("/webhooks", {"name": "pager", "url": URL}).json()


def tell():
    record_event(Event(EventKind.TWO_FACTOR_RECOVERED, detail={"actor": "alice"}))


def test_the_secret_is_shown_once(admin, hook):
    assert 24 <= len(base64.b64decode(hook["secret"].removeprefix("whsec_"))) <= 64
    assert "secret" not in admin.get(f"/webhooks/{hook['id']}").json()
    assert hook["secret"] not in admin.get("/webhooks").content.decode()
    assert hook["secret"] not in str(Webhook.objects.values().get())


def test_a_rotated_secret_is_shown_once_and_in_no_revision(clock, admin, hook):
    answer = admin.post(f"/webhooks/{hook['id']}/rotate", {})

    assert answer.status_code == 200
    assert answer.json()["secret"] != hook["secret"]
    assert answer.json()["previous_until"] == "2026-03-15T09:26:53Z"
    revisions = json.dumps(list(PolicyRevision.objects.values_list("changes", flat=True)))
    assert '"secret": "changed"' in revisions
    for secret in (hook["secret"], answer.json()["secret"], *Webhook.objects.values_list("sealed_secret", flat=True)):
        assert secret not in revisions


def test_a_webhook_among_the_events_is_a_changed_setting_without_its_secret(admin, hook):
    [event] = admin.get("/security-events?kind=settings.changed").json()["results"]

    assert event["detail"]["changes"][0]["resource"] == "webhooks"
    assert hook["secret"] not in json.dumps(event)


def test_a_test_waits_to_be_sent(admin, hook):
    answer = admin.post(f"/webhooks/{hook['id']}/test", {})

    assert answer.status_code == 202
    path = f"/webhooks/{hook['id']}/deliveries"
    [listed] = admin.get(path).json()["results"]
    assert listed == answer.json()
    assert (listed["type"], listed["status"], listed["attempts"]) == ("webhook.test", "waiting", 0)
    shown = admin.get(f"{path}/{listed['id']}").json()
    assert shown == {**listed, "data": {"webhook": hook["id"], "name": "pager", "actor": "alice"}}


def test_a_failed_delivery_is_resent_under_the_same_message_id(admin, hook):
    tell()
    Delivery.objects.update(status="failed", next_at=None, attempts=8, response_status=500, failure="no")
    path = f"/webhooks/{hook['id']}/deliveries"
    [failed] = admin.get(f"{path}?status=failed&type=two-factor.recovered").json()["results"]
    assert admin.get(f"{path}?status=waiting").json()["count"] == 0

    answer = admin.post(f"{path}/{failed['id']}/resend", {})

    assert answer.status_code == 202
    assert (answer.json()["status"], answer.json()["attempts"]) == ("waiting", 0)
    assert answer.json()["message_id"] == failed["message_id"]


def test_a_webhook_that_is_switched_off_is_sent_nothing(admin, hook):
    tell()
    admin.put(f"/webhooks/{hook['id']}", {"enabled": False})
    [row] = admin.get(f"/webhooks/{hook['id']}/deliveries").json()["results"]
    paths = ("test", f"deliveries/{row['id']}/resend")
    answers = [admin.post(f"/webhooks/{hook['id']}/{path}", {}) for path in paths]

    assert (row["status"], row["failure"]) == ("failed", "the webhook was switched off")
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(409, "webhook-disabled")] * 2


def test_test_notices_count_towards_the_hourly_limit(admin, hook):
    admin.put("/system/settings", {"webhook_notices_per_hour": 1})
    answers = [admin.post(f"/webhooks/{hook['id']}/test", {}) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [202, 409]
    assert answers[1].json()["code"] == "outbox-full"


def test_the_deliveries_of_another_webhook_are_not_found(admin, hook):
    tell()
    delivery = Delivery.objects.get()
    other = admin.post("/webhooks", {"name": "other", "url": URL}).json()
    paths = [f"/webhooks/{number}/deliveries/{delivery.pk}" for number in (other["id"], 999_999)]

    assert [admin.get(path).status_code for path in paths] == [404, 404]
    assert [admin.post(f"{path}/resend", {}).status_code for path in paths] == [404, 404]
    assert admin.get("/webhooks/999999/deliveries").status_code == 404


def test_names_are_unique(admin, hook):
    answer = admin.post("/webhooks", {"name": "pager", "url": URL})

    assert (answer.status_code, answer.json()["code"]) == (409, "duplicate")


def test_the_number_of_webhooks_is_limited(admin, monkeypatch):
    monkeypatch.setattr(services, "MAX_WEBHOOKS", 1)
    answers = [admin.post("/webhooks", {"name": f"hook {number}", "url": URL}) for number in range(2)]

    assert [answer.status_code for answer in answers] == [201, 409]
    assert answers[1].json()["code"] == "too-many-webhooks"


@pytest.mark.parametrize(
    "url",
    [
        "http://receiver.example/hook",
        "https://127.0.0.1/hook",
        "https://[::1]/hook",
        "https://10.0.0.7/hook",
        "https://169.254.169.254/latest",
        "https://user:password@receiver.example/",
        "https://receiver.example/?token=secret",
        "https://receiver.example/#x",
        "https://receiver.example:99999/",
        "https:///hook",
        "https://receiver.example:/hook",
        "https://receiver.example\\evil/hook",
        "https://receiver.example\t/hook",
        "https://receiver.example /hook",
        "https://%72eceiver.example/hook",
        "https://receiver..example/hook",
        "https://receiver.example/a\\b",
        "file:///etc/passwd",
        "ftp://receiver.example/",
        "https://bücher.example/",
        "https://receiver.example/a b",
        "receiver.example",
        "",
        5,
    ],
)
def test_a_forbidden_url_is_refused(admin, hook, url):
    assert fields_refused(admin.post("/webhooks", {"name": "other", "url": url})) == {"url"}
    assert fields_refused(admin.put(f"/webhooks/{hook['id']}", {"url": url})) == {"url"}


@pytest.mark.parametrize("url", ["http://10.0.0.7:8080/hook", "https://127.0.0.1/", "http://pager.internal/hook"])
def test_a_private_url_needs_allow_private_for_as_long_as_it_is_set(admin, url):
    hook = admin.post("/webhooks", {"name": "inside", "url": url, "allow_private": True})

    assert hook.status_code == 201
    assert fields_refused(admin.put(f"/webhooks/{hook.json()['id']}", {"allow_private": False})) == {"url"}


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"kinds": ["no.such.kind"]}, "kinds"),
        ({"kinds": ["client.banned", "client.banned"]}, "kinds"),
        ({"kinds": "client.banned"}, "kinds"),
        ({"kinds": [5]}, "kinds"),
        ({"kinds": ["policy.changed"]}, "least_severity"),
        ({"least_severity": "worst"}, "least_severity"),
        ({"enabled": "yes"}, "enabled"),
        ({"secret": "whsec_AAAA"}, "secret"),
        ({"name": ""}, "name"),
    ],
)
def test_a_field_that_makes_no_sense_is_refused(admin, fields, refused):
    answer = admin.post("/webhooks", {"name": "other", "url": URL, **fields})

    assert {name.partition(".")[0] for name in fields_refused(answer)} == {refused}


@pytest.mark.parametrize("path", ["rotate", "test"])
def test_a_call_without_fields_refuses_every_field(admin, hook, path):
    assert fields_refused(admin.post(f"/webhooks/{hook['id']}/{path}", {"secret": "mine"})) == {"secret"}
