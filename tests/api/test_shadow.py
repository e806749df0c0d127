"""The shadow policy over HTTP: set, shown, removed, put in force."""

from datetime import timedelta

import pytest
from django.utils import timezone

from gatewall.models import PendingConfirmation, RefusalWatch
from gatewall.models.shadow import ShadowPolicy
from gatewall.policy import revisions
from gatewall.whatif.plans.applying import Conditions, PolicyMovedOn
from gatewall.whatif.shadow.documents import promote
from gatewall.whatif.shadow.services import current, report
from policies import services
from policies.history import confirmation
from policies.models import AuthorizedDomain
from tests.api.plans import expect
from tests.api.test_lock_out import ME
from tests.support.cast import OFFICE
from tests.support.proxies import Api, a_token

pytestmark = pytest.mark.django_db

CLOSED = f"version: 1\ndomains:\n- name: {OFFICE}\n  access: denied\n"


def put(caller, document=CLOSED, percent=10):
    return caller.put("/policy/shadow", {"document": document, "percent": percent})


def test_a_shadow_policy_is_shown_and_changes_no_policy(admin, office):
    before = revisions.current()

    body = put(admin).json()

    assert (body["document"], body["percent"], body["state"], body["created_by"]) == (CLOSED, 10, "waiting", "alice")
    assert admin.get("/policy/shadow").json() == body
    assert (body["sampled_percent"], body["cpu_percent"], body["cpu_percent_limit"]) == (None, None, 25)
    assert revisions.current() == before
    office.refresh_from_db()
    assert office.access == "authenticated"


def test_a_document_may_be_an_object(admin, office):
    document = {"version": 1, "domains": [{"name": OFFICE, "access": "public"}]}
    assert put(admin, document).status_code == 200
    assert admin.post("/policy/shadow/promote", {}).json()["revision"] == revisions.current().revision
    office.refresh_from_db()
    assert office.access == "public"


def test_setting_a_shadow_policy_again_restarts_it(admin, office):
    put(admin)
    first = ShadowPolicy.objects.get().key
    put(admin, percent=100)

    assert ShadowPolicy.objects.get().key != first
    assert admin.get("/policy/shadow").json()["percent"] == 100


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ("version: 1\nnonsense: 1\n", "document-refused"),
        ("version: 1\nversion: 1\n", "document-refused"),
        ("a: &x 1\nb: *x\n", "document-refused"),
        ([], "invalid"),
        (7, "invalid"),
    ],
)
def test_an_invalid_document_is_refused(admin, document, code):
    answer = put(admin, document)

    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert admin.get("/policy/shadow").status_code == 404


@pytest.mark.parametrize("percent", [0, 101, "many", None])
def test_an_invalid_percentage_is_refused(admin, percent):
    answer = put(admin, percent=percent)

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "percent"


def test_a_removed_shadow_policy_is_not_found(admin, office):
    put(admin)

    assert admin.delete("/policy/shadow").status_code == 204
    assert admin.get("/policy/shadow").status_code == admin.delete("/policy/shadow").status_code == 404
    assert admin.post("/policy/shadow/promote", {}).json()["code"] == "no-shadow-policy"


def test_promoting_applies_the_document_in_one_revision_and_removes_the_shadow(admin, office):
    put(admin)
    before = revisions.current().revision

    answer = admin.post("/policy/shadow/promote", {"if_revision": before})

    assert answer.json()["revision"] == before + 1 == revisions.current().revision
    assert AuthorizedDomain.objects.get(name=OFFICE).access == "denied"
    assert admin.get("/policy/shadow").status_code == 404


def test_only_the_promotion_of_a_document_needs_force(admin):
    assert put(admin, "version: 1\nblocklist:\n- ip: 10.0.0.0/7\n").status_code == 200

    assert admin.post("/policy/shadow/promote", {}).json()["code"] == "network-too-large"
    assert admin.post("/policy/shadow/promote", {"force": True}).status_code == 200


def test_promoting_a_policy_that_moved_on_is_refused(admin, office):
    put(admin)
    before = revisions.current().revision
    services.register_domain(actor="bob", name="other.example", access="public")

    assert admin.post("/policy/shadow/promote", {"if_revision": before}).status_code == 412
    assert admin.post("/policy/shadow/promote", {}).json()["code"] == "stale"  # its section has changed
    assert admin.post("/policy/shadow/promote", {"if_revision": before + 5}).status_code == 412
    assert admin.get("/policy/shadow").status_code == 200
    assert AuthorizedDomain.objects.get(name=OFFICE).access == "authenticated"
    assert admin.post("/policy/shadow/promote", {"if_revision": before + 1}).status_code == 200


@pytest.mark.parametrize(("actor", "source"), [("import", "import:drop"), ("auto-ban", "auto-ban")])
def test_automatic_changes_do_not_block_the_promotion_of_a_shadow(admin, office, actor, source):
    put(admin)
    before = revisions.current().revision
    services.block_network(actor=actor, network="203.0.113.9", source=source)

    assert admin.post("/policy/shadow/promote", {"if_revision": before}).status_code == 200


def test_changes_outside_its_sections_do_not_block_the_promotion(admin, office):
    put(admin)
    services.block_country(actor="bob", country_code="NZ")

    assert admin.post("/policy/shadow/promote", {}).status_code == 200


def test_a_shadow_that_was_replaced_meanwhile_is_not_promoted(admin, office):
    put(admin)
    seen = current()
    put(admin, f"version: 1\ndomains:\n- name: {OFFICE}\n  access: public\n")

    with pytest.raises(PolicyMovedOn):
        promote(seen, actor="alice", caller=None, if_revision=None, conditions=Conditions())
    office.refresh_from_db()
    assert office.access == "authenticated"
    assert current().key != seen.key


def test_promoting_answers_as_applying_the_document_does(admin, office, bob):
    asked = {"confirm_within_seconds": 60, "undo_if_refused": {"people": 3, "minutes": 10}}
    document = CLOSED + expect(("bob", {"as": {"user": bob.username}}, "deny", ""))
    put(admin, document)
    before = revisions.current().revision

    promoted = admin.post("/policy/shadow/promote", asked).json()

    waiting, watch = PendingConfirmation.objects.get(), RefusalWatch.objects.get()
    assert promoted["revision"] == waiting.revision == watch.revision == before + 1
    assert promoted["confirm_by"] == f"{waiting.deadline:%Y-%m-%dT%H:%M:%SZ}"
    assert (watch.people, watch.until - watch.made_at) == (3, timedelta(minutes=10))
    confirmation.revert(before + 1, actor="alice")
    applied = admin.post("/policy/apply", {"document": document, "if_revision": before + 2, **asked}).json()
    own = {"revision", "confirm_by", "changes"}
    assert {**promoted, **dict.fromkeys(own)} == {**applied, **dict.fromkeys(own)}
    assert named(promoted["changes"]) == named(applied["changes"])


def named(changes):
    return [(each["resource"], each["name"], each["action"]) for each in changes]


def test_promoting_against_an_expectation_changes_nothing(admin, office):
    put(admin, CLOSED + expect(("open", {}, "allow", ""), ("zoe", {"as": {"user": "Zoe"}}, "deny", "")))
    before = revisions.current()

    answer = admin.post("/policy/shadow/promote", {"force": True})

    assert (answer.status_code, answer.json()["code"]) == (409, "expectation-failed")
    assert [each["name"] for each in answer.json()["expectations"]] == ["open", "zoe"]
    assert admin.get("/policy/shadow").status_code == 200
    assert revisions.current() == before
    office.refresh_from_db()
    assert office.access == "authenticated"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"confirm_within_seconds": 4}, "confirm_within_seconds"),
        ({"undo_if_refused": {"people": 1}}, "undo_if_refused.minutes"),
        ({"if_revision": "1"}, "if_revision"),
        ({"document": CLOSED}, "document"),
    ],
)
def test_a_promotion_that_makes_no_sense_is_refused(admin, office, body, field):
    put(admin)
    refused = admin.post("/policy/shadow/promote", body)

    assert (refused.status_code, [each["field"] for each in refused.json()["errors"]]) == (400, [field])
    assert admin.get("/policy/shadow").status_code == 200


def test_promoting_the_current_policy_changes_nothing(admin, office):
    put(admin, f"version: 1\ndomains:\n- name: {OFFICE}\n")
    before = revisions.current().revision

    assert admin.post("/policy/shadow/promote", {}).json()["revision"] is None
    assert revisions.current().revision == before


def test_a_promotion_that_locks_out_its_author_needs_force_and_confirmation(alice, office):
    me = Api(a_token(alice), **{"X-Forwarded-For": ME, "Host": OFFICE})
    put(me, f"version: 1\nblocklist:\n- ip: {ME}\n")
    refused = me.post("/policy/shadow/promote", {})

    assert (refused.status_code, refused.json()["code"]) == (409, "would-lock-you-out")
    assert me.get("/policy/shadow").status_code == 200
    forced = me.post("/policy/shadow/promote", {"force": True}).json()
    (waiting,) = confirmation.pending()
    assert forced["revision"] == waiting.revision == revisions.current().revision
    assert forced["confirm_by"] == f"{waiting.deadline:%Y-%m-%dT%H:%M:%SZ}"


def test_figures_are_summed_over_the_reports_of_all_hosts(admin, office):
    put(admin)
    key = ShadowPolicy.objects.get().key
    figures = {
        "shadow": str(key), "answers": 1000, "selected": 100, "evaluated": 60, "differing": 7, "skipped": 40,
        "behind": 0, "faults": 0, "answer_seconds": 2.0, "shadow_seconds": 0.4,
    }  # fmt: skip
    recent = {"answers": 100, "selected": 10, "evaluated": 6, "answer_seconds": 0.2, "shadow_seconds": 0.05}
    each = {"figures": figures, "recent": recent, "active": True, "problem": ""}
    for node in ("one", "two"):
        report(key, node, timezone.now(), {"1-a": each})
        report(key, node, timezone.now(), {"1-a": each})

    body = admin.get("/policy/shadow").json()

    assert (body["state"], body["answers"], body["evaluated"], body["differing"]) == ("active", 2000, 120, 14)
    assert (body["sampled_percent"], body["is_throttled"], body["cpu_percent"]) == (6.0, True, 25.0)


def test_only_admins_may_see_or_set_a_shadow_policy(user):
    assert user.get("/policy/shadow").status_code == 403
    assert put(user).status_code == 403
