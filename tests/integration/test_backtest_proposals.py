"""Backtests of settings, lists of changes and restores: their predictions come true."""

import pytest
from django.conf import settings

from audit.models import AccessLog
from audit.storage import ingest
from gatewall.engine.addresses import parse_address
from gatewall.kernel.clientip import Caller
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions, system_settings
from gatewall.whatif.backtest import saving
from gatewall.whatif.backtest.models import Backtest
from gatewall.whatif.backtest.proposals import Restore
from policies import services
from policies.groups.services import create_group
from policies.history.lockout import WouldLockYouOut
from policies.models import AccessRule, AuthorizedDomain, BlocklistEntry
from tests.integration.backtests import a_draft, asked, changes, run_of, turns
from tests.support.cast import CLIENT, OFFICE

pytestmark = pytest.mark.django_db

OWN = Caller(parse_address(CLIENT), None)
SETTINGS = "system/settings"


def settings_draft(**values):
    return a_draft(SETTINGS, "update", **values)


def save(result_of, **values):
    return saving.save(result_of, saving.ENFORCE, actor="alice", **({"caller": None, "force": False} | values))


def finished(proposal):
    run_of(proposal)
    return Backtest.objects.latest("id")


def shut(name="other.example"):
    """Return changes: a new domain, and a rule that refuses every request there and to the office below /page."""
    page = [{"match": "prefix", "value": "/page"}]
    return changes(
        a_draft("authorized-domains", name=name),
        a_draft("groups", name="family", authorized_domains=[name]),
        a_draft("access-rules", name="shut", access="denied", domains=[name, OFFICE], paths=page),
    )


def test_a_setting_is_tried_and_saved(recorded):
    AuthorizedDomain.objects.all().delete()
    run = finished(settings_draft(authorized_domains_mode="registered"))

    assert turns(run.result) == {
        ("session-valid", "host-not-authorized"): 4,
        ("credential-missing", "host-not-authorized"): 1,
    }
    assert system_settings.current().authorized_domains_mode == "any"

    save(run)

    assert system_settings.current().authorized_domains_mode == "registered"


def test_settings_that_records_cannot_replay_leave_every_request_undecidable(recorded):
    rate = run_of(settings_draft(request_rate_per_minute=1))
    age = run_of(settings_draft(stale_policy="strict"))
    kept = run_of(settings_draft(log_query_strings="off", audit_mode="strict", session_hours=1))

    assert (rate["changed"], rate["undecidable"]["missing"]) == (0, {"request-rate": 5})
    assert (age["changed"], age["undecidable"]) == (0, {"total": 5, "missing": {"policy-age": 5}})
    assert (kept["untouched"], kept["undecidable"]["total"]) == (5, 0)


def test_changes_are_applied_in_order_and_saved_as_one_revision(recorded):
    before = revisions.current().revision
    run = finished(shut())

    assert turns(run.result) == {("session-valid", "access-denied"): 3}
    assert not AccessRule.objects.exists()
    assert revisions.current().revision == before

    save(run)

    assert revisions.current().revision == before + 1
    (made,) = PolicyRevision.objects.filter(number__gt=before)
    assert {each["resource"] for each in made.changes} >= {"authorized-domains", "groups", "access-rules"}
    assert AccessRule.objects.get().domains.count() == 2
    assert AuthorizedDomain.objects.get(name="other.example").remark.startswith(f"backtest {run.pk}: 3 of 5")
    assert Backtest.objects.get(pk=run.pk).saved == {"how": "enforce", "id": None}


def test_a_list_with_a_refused_change_changes_nothing(recorded):
    run = finished(shut())
    create_group(actor="", name="family")
    before = revisions.current().revision

    with pytest.raises(Exception, match=r"^changes\.1: ") as refused:
        save(run)

    assert refused.value.code == "duplicate"
    assert revisions.current().revision == before
    assert not AuthorizedDomain.objects.filter(name="other.example").exists()


def test_changes_may_lock_out_their_author_in_between_but_not_at_the_end(recorded):
    entry = services.block_network(actor="", network="203.0.113.0/24")
    moved = changes(
        a_draft("ip-black-list", "update", entry.pk, ip="198.51.100.0/24"),
        a_draft("ip-white-list", ip=CLIENT),
        a_draft("ip-black-list", "delete", entry.pk),
    )
    stays = changes(a_draft("ip-black-list", ip=CLIENT), a_draft("geo-block-rules", country_code="AQ"))
    with pytest.raises(WouldLockYouOut):
        asked(stays, caller=OWN)

    save(finished(moved), caller=OWN)
    run = finished(stays)
    with pytest.raises(WouldLockYouOut):
        save(run, caller=OWN)
    assert not BlocklistEntry.objects.exists()
    save(run, caller=OWN, force=True)

    waiting = PendingConfirmation.objects.get()
    assert waiting.revision == revisions.current().revision == waiting.previous + 1


def test_a_restore_is_tried_and_saved(recorded):
    then = revisions.current().revision
    entry = services.block_network(actor="", network=CLIENT)
    run = finished(Restore(then))

    assert turns(run.result) == {
        ("client-blocked", "session-valid"): 3,
        ("client-blocked", "credential-missing"): 1,
    }
    assert BlocklistEntry.objects.get() == entry

    save(run)

    assert not BlocklistEntry.objects.exists()
    assert PolicyRevision.objects.latest("number").actor == "alice"


def change_setting():
    system_settings.change(actor="", waf_threshold=9)


def change_domain():
    services.change_domain(AuthorizedDomain.objects.get(name=OFFICE), actor="", access="public")


def ban():
    services.block_network(actor="", network="203.0.113.77", source="auto-ban")


@pytest.mark.parametrize(
    ("proposal", "change", "is_stale"),
    [
        (settings_draft(waf_mode="off"), change_setting, True),
        (settings_draft(waf_mode="off"), change_domain, False),
        (changes(settings_draft(waf_mode="off"), a_draft("ip-black-list", ip="192.0.2.1")), change_setting, True),
        (changes(a_draft("ip-black-list", ip="192.0.2.1")), change_setting, False),
        (Restore(1), change_setting, True),
        (Restore(1), change_domain, True),
        (Restore(1), ban, False),
    ],
)
def test_a_proposal_whose_rows_changed_since_is_saved_only_with_force(recorded, proposal, change, is_stale):
    run = finished(proposal)
    change()
    if is_stale:
        with pytest.raises(saving.OtherRow):
            save(run)
    save(run, force=is_stale)

    assert Backtest.objects.get(pk=run.pk).saved


def test_disabling_a_user_refuses_their_recorded_requests(recorded, bob):
    assert (
        turns(run_of(a_draft("users", "update", bob.pk, is_active=False)))["session-valid", "credential-invalid"] == 4
    )
    bob.refresh_from_db()
    assert bob.is_active


REQUESTS = [
    {"x_forwarded_uri": "/page/1"},
    {"x_forwarded_uri": "/search?q=evil"},
    {"x_forwarded_host": "unknown.example"},
    {"x_forwarded_for": "203.0.113.9"},
    {"x_forwarded_for": "192.0.2.200", "x_forwarded_uri": "/page/evil"},
]
ONE_RULE = a_draft("waf-rules", name="evil", pattern="evil", targets=["uri"], score=4)
PROPOSALS = {
    "a threshold that a match reaches": changes(ONE_RULE, settings_draft(waf_threshold=4)),
    "a threshold that no match reaches": changes(ONE_RULE, settings_draft(waf_threshold=5)),
    "only registered hosts": settings_draft(authorized_domains_mode="registered"),
    "no country known": settings_draft(unknown_country="block"),
    "a rule, a domain and a list": changes(*shut().drafts, a_draft("ip-black-list", ip="203.0.113.0/24")),
    "a public host": changes(a_draft("authorized-domains", name="unknown.example", access="public")),
}


@pytest.mark.parametrize("proposal", PROPOSALS.values(), ids=PROPOSALS)
def test_predicted_changes_happen_when_the_same_requests_are_repeated(auth, wall, bob, proposal):
    services.register_domain(actor="", name=OFFICE, access="authenticated", seed=True)
    token = wall.a_token(bob)
    before = answers(auth, token)
    run = finished(proposal)
    predicted = turns(run.result)
    assert run.result["undecidable"]["total"] == 0

    save(run)
    after = answers(auth, token)

    happened = {}
    for pair in zip(before, after, strict=True):
        if pair[0] != pair[1]:
            happened[pair] = happened.get(pair, 0) + 1
    assert predicted == happened


def answers(auth, token):
    """Return the reason of every answer, in order, to each request with and without a sign-in."""
    seen = set(AccessLog.objects.values_list("decision_id", flat=True))
    for request in REQUESTS:
        auth(**request)
        auth(**request, service_authorization=token)
    auth.gate.close()
    ingest.ship(settings.GATEWALL_HOME / "spool")
    new = AccessLog.objects.exclude(decision_id__in=seen).order_by("at", "decision_id")
    return list(new.values_list("reason", flat=True))
