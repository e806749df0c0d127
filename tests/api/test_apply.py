"""Applying plans and documents over HTTP: as one revision, or not at all."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import ApiToken
from gatewall.models import PendingConfirmation, PolicyRevision, RefusalWatch
from gatewall.policy import revisions
from policies import services
from policies.document.export import export
from policies.history import confirmation
from policies.models import AUTO_BAN, AuthorizedDomain, BlocklistEntry
from tests.api.plans import CLOSED, DOMAIN, expect, planned
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import Api, a_token, a_user, an_api_token, with_api_token

pytestmark = pytest.mark.django_db

OWN = f"version: 1\nblocklist:\n- ip: {CLIENT}\n"
STALE = (412, "stale")


@pytest.fixture
def me(alice):
    """Return a client of Alice, who comes through the proxy to office.example."""
    return Api(a_token(alice), **{"X-Forwarded-For": CLIENT, "Host": OFFICE})


def apply(caller, **body):
    return caller.post("/policy/apply", body)


def outcome(answer):
    body = answer.json()
    return answer.status_code, body.get("code")


def test_a_plan_is_applied_by_its_digest_in_one_revision(admin, office):
    many = CLOSED + 'blocklist:\n- ip: "192.0.2.1"\n- ip: "192.0.2.2"\ncountries:\n- country_code: AQ\n'
    plan = planned(admin, many)
    before = revisions.current().revision

    body = apply(admin, digest=plan["digest"]).json()

    assert body["revision"] == revisions.current().revision == before + 1
    assert [(each["resource"], each["name"], each["action"]) for each in body["changes"]] == [
        (each["resource"], each["name"], each["action"]) for each in plan["changes"]
    ]
    assert PolicyRevision.objects.get(pk=body["revision"]).actor == "alice"
    assert "confirm_by" not in body
    assert export({"domains", "blocklist", "countries"}).canonical().decode() == many
    assert admin.get(f"/policy/plan/{plan['id']}").json()["applied_revision"] == body["revision"]


def test_a_plan_is_applied_once(admin, office):
    for body in ({"document": CLOSED}, {"changes": [DOMAIN]}):
        digest = admin.post("/policy/plan", body).json()["digest"]
        planned(admin, "version: 1")
        assert apply(admin, digest=digest).status_code == 200
        before = revisions.current()
        assert outcome(apply(admin, digest=digest)) == STALE
        assert revisions.current() == before


def test_of_two_applies_of_one_revision_the_second_is_stale(admin, office):
    number = revisions.current().revision
    opened = CLOSED.replace("denied", "public")

    assert apply(admin, document=opened, if_revision=number).status_code == 200
    assert outcome(apply(admin, document=CLOSED, if_revision=number)) == STALE

    office.refresh_from_db()
    assert office.access == "public"


def test_a_document_that_changes_nothing_makes_no_revision(admin, office):
    number = revisions.current().revision
    same = export({"domains"}).canonical().decode()

    body = apply(admin, document=same, if_revision=number, confirm_within_seconds=60).json()

    assert body == {"revision": None, "changes": [], "counts": [], "expectations": []}
    assert revisions.current().revision == number
    assert not PendingConfirmation.objects.exists()


def change_the_section():
    services.register_domain(actor="", name="other.example", access="public")


def change_another_section():
    services.block_network(actor="", network="192.0.2.9")


def ban():
    services.block_network(actor="", network="192.0.2.9", source=AUTO_BAN)


@pytest.mark.parametrize(
    ("document", "change", "is_stale"),
    [
        (CLOSED, change_the_section, True),
        (CLOSED, change_another_section, False),
        (OWN, change_another_section, True),
        (OWN, ban, False),
    ],
)
def test_only_changes_of_its_own_contents_make_a_plan_stale(admin, office, document, change, is_stale):
    number, plan = revisions.current().revision, planned(admin, document)
    change()
    before = revisions.current()

    answers = [apply(admin, document=document, if_revision=number), apply(admin, digest=plan["digest"])][
        : 2 if is_stale else 1
    ]

    assert [outcome(each)[0] for each in answers] == [412 if is_stale else 200] * len(answers)
    assert (revisions.current() == before) is is_stale


def test_a_future_revision_is_stale(admin, office):
    later = revisions.current().revision + 1
    assert outcome(apply(admin, document=CLOSED, if_revision=later)) == STALE


def test_a_plan_of_another_history_is_stale(admin, office):
    digest = planned(admin, CLOSED)["digest"]
    revisions.begin_epoch(after=revisions.head().epoch)

    assert outcome(apply(admin, digest=digest)) == STALE


def test_a_failed_expectation_changes_nothing_and_all_that_fail_are_named(admin, office, bob):
    wanted = CLOSED + expect(
        ("bob", {"as": {"user": bob.username}}, "allow", ""),
        ("shut", {}, "deny", "host-not-authorized"),
        ("zoe", {"as": {"user": "Zoe"}}, "allow", ""),
    )
    before, number = revisions.current(), revisions.current().revision

    refused = apply(admin, document=wanted, if_revision=number)
    again = apply(admin, digest=planned(admin, wanted)["digest"], force=True)

    for each in (refused, again):
        assert outcome(each) == (409, "expectation-failed")
        assert [one["name"] for one in each.json()["expectations"]] == ["bob", "zoe"]
    assert refused.json()["detail"] == "failed expectations (2): bob, zoe"
    assert revisions.current() == before
    office.refresh_from_db()
    assert office.access == "authenticated"
    assert not PolicyRevision.objects.filter(number__gt=before.revision).exists()


def test_expectations_that_hold_are_stored_and_guard_the_next_change(admin, office, bob):
    opened = CLOSED.replace("denied", "authenticated") + expect(("bob", {"as": {"user": bob.username}}, "allow", ""))
    first = apply(admin, document=opened, if_revision=revisions.current().revision).json()

    refused = apply(admin, document=CLOSED, if_revision=first["revision"])

    assert [each["passed"] for each in first["expectations"]] == [True]
    assert outcome(refused) == (409, "expectation-failed")


def test_a_lockout_must_be_forced_and_then_confirmed(me, office):
    digest = planned(me, OWN)["digest"]
    assert outcome(apply(me, digest=digest)) == (409, "would-lock-you-out")
    assert not BlocklistEntry.objects.exists()

    body = apply(me, digest=digest, force=True).json()

    assert body["revision"] == revisions.current().revision
    assert body["confirm_by"]
    assert confirmation.revert_overdue(timezone.now() + timedelta(minutes=6)) == 1
    assert not BlocklistEntry.objects.exists()


def test_a_change_with_a_deadline_is_reverted_unless_confirmed(admin, office):
    ends = []
    for is_confirmed in (True, False):
        document = CLOSED if is_confirmed else CLOSED.replace("denied", "public")
        base = revisions.current().revision
        body = apply(admin, document=document, if_revision=base, confirm_within_seconds=30).json()
        assert body["confirm_by"]
        if is_confirmed:
            assert admin.post(f"/policy/revisions/{body['revision']}/confirm", {}).status_code == 200
        confirmation.revert_overdue(timezone.now() + timedelta(seconds=31))
        ends.append(AuthorizedDomain.objects.get(name=OFFICE).access)

    assert ends == ["denied", "denied"]


def test_applying_a_document_may_start_a_refusal_watch(admin, office):
    body = apply(
        admin,
        document=CLOSED,
        if_revision=revisions.current().revision,
        undo_if_refused={"people": 3, "minutes": 10},
    ).json()

    watch = RefusalWatch.objects.get()
    assert (watch.revision, watch.previous, watch.people) == (body["revision"], body["revision"] - 1, 3)
    assert watch.until - watch.made_at == timedelta(minutes=10)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "digest"),
        ({"digest": "x"}, "digest"),
        ({"digest": "a" * 64, "document": CLOSED}, "digest"),
        ({"digest": "a" * 64, "if_revision": 1}, "if_revision"),
        ({"document": CLOSED}, "if_revision"),
        ({"document": CLOSED, "if_revision": "1"}, "if_revision"),
        ({"document": "version: 9", "if_revision": 1}, "document"),
        ({"document": CLOSED, "if_revision": 1, "confirm_within_seconds": 4}, "confirm_within_seconds"),
        ({"document": CLOSED, "if_revision": 1, "confirm_within_seconds": 3601}, "confirm_within_seconds"),
        ({"document": CLOSED, "if_revision": 1, "undo_if_refused": {"people": 1}}, "undo_if_refused.minutes"),
        (
            {"document": CLOSED, "if_revision": 1, "undo_if_refused": {"people": -1, "minutes": 1}},
            "undo_if_refused.people",
        ),
        ({"document": CLOSED, "if_revision": 1, "more": 1}, "more"),
    ],
)
def test_invalid_bodies_are_refused(admin, office, body, field):
    before = revisions.current()
    refused = apply(admin, **body)

    assert refused.status_code == 400, refused.json()
    assert {each["field"] for each in refused.json()["errors"]} == {field}
    assert revisions.current() == before


def test_a_deleted_plan_is_not_found(admin, office):
    plan = planned(admin, CLOSED)
    admin.delete(f"/policy/plan/{plan['id']}")

    assert outcome(apply(admin, digest=plan["digest"])) == (404, "not-found")


def test_an_auditor_and_a_reading_token_plan_but_do_not_apply(alice, office):
    eve = Api(a_token(a_user("eve", is_auditor=True)))
    reading = with_api_token(an_api_token(alice, "policy:read"))
    digests = [planned(each, CLOSED)["digest"] for each in (eve, reading)]

    assert outcome(apply(eve, digest=digests[0]))[0] == 403
    assert outcome(apply(reading, digest=digests[1])) == (403, "scope-missing")
    writing = with_api_token(an_api_token(alice, "policy:write", name="deploy"))
    assert apply(writing, digest=digests[1]).status_code == 200


def test_a_token_that_expires_between_plan_and_apply_is_401(alice, office):
    token = with_api_token(an_api_token(alice))
    digest = planned(token, CLOSED)["digest"]
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert outcome(apply(token, digest=digest)) == (401, "not-authenticated")
    assert AuthorizedDomain.objects.get(name=OFFICE).access == "authenticated"


def test_a_plan_that_names_a_deleted_user_is_refused_as_a_whole(admin, office, bob):
    rule = "access_rules:\n- name: shut\n  access: denied\n  users: [" + bob.username + "]\n"
    digest = planned(admin, CLOSED + rule)["digest"]
    bob.delete()

    assert outcome(apply(admin, digest=digest)) == (400, "document-refused")
    assert AuthorizedDomain.objects.get(name=OFFICE).access == "authenticated"
