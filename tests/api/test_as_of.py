"""``POST /policy/explain`` and ``GET /access-logs/:id`` as of a kept revision."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.services import change_user, delete_user
from gatewall.models import PolicyRevision
from gatewall.policy import revisions, system_settings
from policies import services
from policies.models import AUTO_BAN
from tests.support.cast import CLIENT, OFFICE

pytestmark = pytest.mark.django_db
VISIT = {"client_ip": CLIENT, "host": OFFICE, "method": "GET", "uri": "/", "scheme": "https"}


def now():
    return revisions.current().revision


@pytest.fixture
def explain(admin):
    def ask(status=200, **parts):
        response = admin.post("/policy/explain", VISIT | parts)
        assert response.status_code == status, response.json()
        return response.json()

    return ask


@pytest.fixture
def again(admin):
    def ask(decision_id, **parameters):
        response = admin.get(f"/access-logs/{decision_id}", parameters)
        assert response.status_code == 200, response.json()
        return response.json()["again"]

    return ask


def test_a_request_is_explained_as_of_a_revision(explain, office):
    open_ = now()
    entry = services.block_network(actor="", network=CLIENT)
    blocked = now()
    services.unblock_network(entry, actor="")
    head = revisions.current()

    reasons = [explain(revision=number)["decision"]["reason"] for number in (open_, blocked, now())]

    assert reasons == ["credential-missing", "client-blocked", "credential-missing"]
    answer = explain(revision=blocked)
    assert (answer["policy_revision"], answer["unknown"]) == (blocked, [])
    moment = PolicyRevision.objects.get(pk=blocked).committed_at
    assert answer["at"] == moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert answer["decision"]["decided_by"]["id"] == entry.pk
    assert explain()["at"] is None
    assert revisions.current() == head


def test_an_expired_automatic_ban_still_counts_in_its_time(clock, explain):
    end = timezone.now() + timedelta(minutes=10)
    services.block_network(actor=AUTO_BAN, network=CLIENT, source=AUTO_BAN, expires_at=end)
    banned = now()
    clock.shift(timedelta(hours=1))
    system_settings.change(actor="", contact="a")

    assert explain(revision=banned)["decision"]["reason"] == "client-blocked"
    assert explain(revision=now())["decision"]["reason"] == "credential-missing"


@pytest.mark.parametrize("number", [0, 10**6, -1, "x"])
def test_a_revision_that_was_never_kept_is_refused(explain, admin, visits, number, office):
    assert explain(400, revision=number)["errors"][0]["field"] == "revision"
    response = admin.get(f"/access-logs/{visits()}", {"revision": number})
    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "revision")


def test_a_request_under_its_own_revision_gets_its_own_answer(again, visits, bob, wall, office):
    session = wall.a_token(bob)
    services.block_network(actor="", network="203.0.113.7")
    asked = {
        visits(service_authorization=session): ("allow", "session-valid"),
        visits(x_forwarded_for="203.0.113.7"): ("deny", "client-blocked"),
        visits(): ("challenge", "credential-missing"),
    }
    recorded = now()
    delete_user(bob, actor="")
    services.change_domain(office, actor="", access="denied")

    for decision_id, verdict in asked.items():
        answer = again(decision_id, revision=recorded)
        assert (answer["decision"]["outcome"], answer["decision"]["reason"]) == verdict
        assert (answer["same"], answer["undecidable"], answer["policy_revision"]) == (True, None, recorded)
    first = next(iter(asked))
    assert again(first, again="true")["decision"]["reason"] == "host-not-authorized"


def test_a_request_is_decided_under_an_earlier_and_a_later_policy(again, visits, bob, wall, office):
    change_user(bob, actor="", is_active=False)
    before = now()
    bob = change_user(bob, actor="", is_active=True)
    decision_id = visits(service_authorization=wall.a_token(bob))
    change_user(bob, actor="", all_domains=False)
    after = now()
    change_user(bob, actor="", all_domains=True)

    reasons = [again(decision_id, revision=number)["decision"]["reason"] for number in (before, after, now())]

    assert reasons == ["credential-invalid", "host-not-in-scope", "session-valid"]


def test_unrecorded_changes_are_listed_as_unknown_or_refused(explain):
    services.block_network(actor="", network="203.0.113.7")
    first = now()
    services.block_network(actor="", network="203.0.113.8", source="import:drop")
    PolicyRevision.objects.filter(pk=now()).update(changes=None)

    assert explain(revision=first)["unknown"] == [
        {"revision": now(), "resource": "ip-black-list", "source": "import:drop"}
    ]

    services.block_network(actor="", network="203.0.113.9")
    PolicyRevision.objects.filter(pk=now()).update(changes=None)
    problem = explain(409, revision=first)
    assert problem["code"] == "cannot-restore"
    assert str(now()) in problem["detail"]


def test_a_revision_beyond_the_undo_limit_is_refused(explain, monkeypatch):
    services.block_network(actor="", network="203.0.113.7")
    first = now()
    for number in range(3):
        services.block_network(actor="", network=f"203.0.114.{number}")
    monkeypatch.setattr("policies.history.undo._MAX_REVISIONS", 2)

    assert explain(409, revision=first)["code"] == "cannot-restore"
    assert explain(revision=first + 1)["policy_revision"] == first + 1


def test_pruned_revisions_are_refused(explain):
    for number in range(3):
        services.block_network(actor="", network=f"203.0.114.{number}")
    PolicyRevision.objects.filter(pk=now() - 1).delete()

    assert explain(409, revision=now() - 2)["code"] == "cannot-restore"
