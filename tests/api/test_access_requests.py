"""Access requests over the API: list them, look at one, give the narrowest grant, refuse."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from accounts import services as accounts
from audit.log import selectors
from audit.spool.rows import record_of_row
from audit.storage import ingest
from gatewall.whatif import access_requests
from policies import services
from policies.models import WAITS, Grant, RequestForAccess
from tests.support.cast import OFFICE
from tests.support.proxies import Api, a_token, code_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def entered(admin, bob, auth, settings):
    """Return a function that asks the gate as Bob, who may enter no domain, and returns verdict and decision id."""
    services.register_domain(actor="alice", name=OFFICE, access="authenticated")
    accounts.change_user(bob, actor="alice", all_domains=False)
    token = a_token(bob)

    def ask(uri="/photos/7"):
        answer = auth(service_authorization=token, x_forwarded_host=OFFICE, x_forwarded_uri=uri)
        ingest.ship(settings.GATEWALL_HOME / "spool")
        return answer.verdict, answer.headers["X-Gatewall-Decision-Id"]

    return ask


@pytest.fixture
def asked(entered, bob):
    record = record_of_row(selectors.answer(UUID(entered()[1])))
    return access_requests.ask(bob, record, "the wedding photos", client_ip=None)


def test_a_request_is_listed_shown_and_granted_as_narrowly_as_possible(admin, asked, entered):
    path = f"/access-requests/{asked.pk}"
    [row] = admin.get("/access-requests", {"state": "pending", "user": "bob"}).json()["results"]
    assert {name: row[name] for name in ("user", "domain", "host", "path", "reason", "state", "grant")} == {
        "user": "Bob", "domain": OFFICE, "host": OFFICE, "path": "/photos/7", "reason": "the wedding photos",
        "state": "pending", "grant": None,
    }  # fmt: skip
    shown = admin.get(path).json()
    offered = [(offer["path_prefix"], offer["refused_requests"]) for offer in shown["offers"]]
    assert offered == [("/photos/7", 1), (None, 1)]
    assert shown["history"]["reasons"] == [{"name": "host-not-in-scope", "count": 1}]

    given = admin.post(f"{path}/grant", {"lifetime": "hour"}).json()

    assert (given["state"], given["decided_by"]) == ("granted", "alice")
    grant = Grant.objects.get(pk=given["grant"])
    assert (grant.path_prefix, str(grant.decision_id)) == ("/photos/7", row["decision_id"])
    assert timedelta(minutes=59) < grant.expires_at - timezone.now() <= timedelta(hours=1)
    assert entered()[0] == (200, "grant-valid")
    assert entered("/photos")[0] == (403, "host-not-in-scope")
    assert "offers" in admin.get(path).json()
    assert admin.get(path).json()["offers"] == []
    assert code_of(admin.post(f"{path}/grant", {"lifetime": "hour"})) == (409, "already-decided")
    assert admin.get("/access-requests", {"state": "granted"}).json()["count"] == 1


def test_a_wider_offer_and_a_longer_time_are_chosen_by_key(admin, asked, entered):
    path = f"/access-requests/{asked.pk}"
    wide = admin.get(path).json()["offers"][1]["key"]

    assert code_of(admin.post(f"{path}/grant", {"offer": "grant-0", "lifetime": "week"})) == (409, "not-offered")
    assert admin.post(f"{path}/grant", {"lifetime": "month"}).status_code == 400
    assert admin.post(f"{path}/grant", {}).status_code == 400
    assert admin.post(f"{path}/grant", {"offer": wide, "lifetime": "week"}).json()["state"] == "granted"
    assert entered("/elsewhere")[0] == (200, "grant-valid")


def test_a_refusal_has_an_answer_and_opens_nothing(admin, asked, entered):
    refused = admin.post(f"/access-requests/{asked.pk}/refuse", {"answer": "Use the archive."}).json()

    assert (refused["state"], refused["answer"], refused["decided_by"]) == ("refused", "Use the archive.", "alice")
    assert entered()[0] == (403, "host-not-in-scope")
    assert code_of(admin.post(f"/access-requests/{asked.pk}/refuse", {})) == (409, "already-decided")


def test_an_unanswered_request_expires_and_is_listed_as_expired(admin, asked):
    RequestForAccess.objects.update(asked_at=timezone.now() - WAITS)

    assert admin.get("/access-requests", {"state": "pending"}).json()["count"] == 0
    assert admin.get("/access-requests", {"state": "expired"}).json()["results"][0]["state"] == "expired"
    assert code_of(admin.post(f"/access-requests/{asked.pk}/grant", {"lifetime": "hour"})) == (409, "already-decided")
    assert admin.get("/access-requests", {"state": "lost"}).status_code == 400


def test_an_auditor_reads_and_decides_nothing(asked, bob):
    accounts.change_user(bob, actor="alice", is_auditor=True)
    auditor = Api(a_token(bob))

    assert auditor.get(f"/access-requests/{asked.pk}").status_code == 200
    for verb, body in (("grant", {"lifetime": "hour"}), ("refuse", {})):
        assert auditor.post(f"/access-requests/{asked.pk}/{verb}", body).status_code == 403
