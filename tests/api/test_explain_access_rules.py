"""Explanations of access rules over the API, for made-up and recorded requests."""

import pytest

from audit.storage import ingest
from policies import services
from policies.access_rules import services as rules
from tests.support.cast import CLIENT, OFFICE

pytestmark = pytest.mark.django_db
VISIT = {"client_ip": CLIENT, "host": OFFICE, "method": "GET", "uri": "/admin/x", "scheme": "https"}


@pytest.fixture(autouse=True)
def policy(db):
    """Register office.example, denied below /admin and public below /hook."""
    services.register_domain(actor="", name=OFFICE, access="authenticated", seed=True)
    for name, access, path in (("hooks", "public", "/hook"), ("no admin", "denied", "/admin")):
        rules.create_access_rule(actor="alice", name=name, access=access, paths=[{"match": "prefix", "value": path}])


def outlined(access):
    return {
        reading["path"]: [(rule["name"], rule["decides"], rule["failed"]) for rule in reading["rules"]]
        for reading in access["readings"]
    }


def test_explanation_names_the_first_condition_that_failed_of_each_rule(admin):
    answer = admin.post("/policy/explain", VISIT).json()

    assert answer["decision"]["reason"] == "access-denied"
    assert answer["access"]["level"] == "denied"
    assert answer["access"]["rule"] == answer["decision"]["decided_by"]["id"]
    assert outlined(answer["access"]) == {"/admin/x": [("hooks", False, "paths"), ("no admin", True, None)]}


def test_explanation_has_each_reading_of_the_path(admin):
    answer = admin.post("/policy/explain", VISIT | {"uri": "/hook/..%2fadmin"}).json()

    assert answer["decision"]["reason"] == "access-denied"
    assert outlined(answer["access"])["/admin"] == [("hooks", False, "paths"), ("no admin", True, None)]
    assert outlined(answer["access"])["/hook/../admin"][0] == ("hooks", True, None)


def test_malformed_request_has_no_access(admin):
    assert admin.post("/policy/explain", VISIT | {"host": "a b"}).json()["access"] is None


def test_recorded_request_is_explained_under_the_rules_of_today(admin, auth, settings):
    answer = auth(x_forwarded_host=OFFICE, x_forwarded_uri="/hook/1", x_forwarded_for=CLIENT)
    ingest.ship(settings.GATEWALL_HOME / "spool")

    again = admin.get(f"/access-logs/{answer.headers['X-Gatewall-Decision-Id']}?again=true").json()["again"]

    assert again["decision"]["reason"] == "path-public"
    assert outlined(again["access"])["/hook/1"] == [("hooks", True, None), ("no admin", False, "paths")]


def test_recorded_denial_of_a_user_is_of_the_step_after_the_credential(admin, auth, alice, wall, settings):
    rules.create_access_rule(actor="x", name="no alice", access="denied", users=[alice])
    ids = [
        auth(
            x_forwarded_host=OFFICE,
            x_forwarded_uri=uri,
            x_forwarded_for=CLIENT,
            service_authorization=wall.a_token(alice),
        ).headers["X-Gatewall-Decision-Id"]
        for uri in ("/", "/admin")
    ]
    ingest.ship(settings.GATEWALL_HOME / "spool")

    traces = [admin.get(f"/access-logs/{id_}").json()["trace"] for id_ in ids]
    decided = [next(step["step"] for step in trace if step["decided"]) for trace in traces]
    assert decided == ["subject-is-denied", "access-is-denied"]
