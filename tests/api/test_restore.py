"""``POST /policy/revisions/:n/restore``: rows are restored, and no scope becomes wider."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from accounts import services as accounts
from accounts.models import User
from gatewall.kernel.changes import Action, Change
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from licensing.models import License
from policies import services
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry, WafRule
from policies.rules.builtin import seed_waf_rules
from tests.support.history import now, the_rows
from tests.support.proxies import PASSWORD, a_license

pytestmark = pytest.mark.django_db


def test_restoring_is_a_revision_of_the_caller_with_its_own_diff(admin):
    first = admin.post("/ip-black-list", {"ip": "203.0.113.7", "remark": "x"}).json()
    number = now()
    admin.delete(f"/ip-black-list/{first['id']}")
    second = admin.post("/ip-black-list", {"ip": "203.0.113.8"}).json()

    response = admin.post(f"/policy/revisions/{number}/restore")

    shown = response.json()
    assert (response.status_code, shown["number"], shown["actor"]) == (200, number + 3, "alice")
    assert {(change["id"], change["action"]) for change in shown["changes"]} == {
        (first["id"], "created"),
        (second["id"], "deleted"),
    }
    assert [admin.get(f"/ip-black-list/{first['id']}").json()] == admin.get("/ip-black-list").json()["results"]
    assert admin.get(f"/ip-black-list/{first['id']}").json() == first
    assert admin.get(f"/policy/revisions/{shown['number']}").json() == shown


def test_a_restore_takes_effect_at_once(admin, auth):
    number = now()
    services.block_network(actor="alice", network="198.51.100.7")
    assert auth().reason == "client-blocked"

    admin.post(f"/policy/revisions/{number}/restore")

    assert auth().reason != "client-blocked"


def test_restoring_the_current_policy_changes_nothing(admin):
    admin.post("/ip-black-list", {"ip": "203.0.113.7"})
    number = now()

    response = admin.post(f"/policy/revisions/{number}/restore", {})

    assert (response.status_code, response.json()["number"], now()) == (200, number, number)


def test_users_and_licenses_are_not_restored(admin, bob):
    number = now()
    accounts.change_user(bob, actor="alice", email="new@office.example", is_active=False)
    a_license()
    before = now()

    assert admin.post(f"/policy/revisions/{number}/restore").status_code == 200

    assert (User.objects.get(pk=bob.pk).is_active, License.objects.count(), now()) == (False, 1, before)


def test_a_restored_domain_is_in_no_scope(admin, office, charlie):
    a_license(all_domains=False, authorized_domains=[office])
    number = now()
    services.remove_domain(office, actor="alice")

    admin.post(f"/policy/revisions/{number}/restore")

    assert AuthorizedDomain.objects.get(pk=office.pk).name == "office.example"
    assert not charlie.authorized_domains.exists()
    assert not License.objects.get().authorized_domains.exists()


def test_a_domain_restored_to_a_wider_name_leaves_the_scopes(admin, office, charlie):
    services.change_domain(office, actor="alice", name="*.example")
    number = now()
    services.change_domain(office, actor="alice", name="office.example")

    shown = admin.post(f"/policy/revisions/{number}/restore").json()

    assert AuthorizedDomain.objects.get(pk=office.pk).name == "*.example"
    assert not charlie.authorized_domains.exists()
    assert {change["resource"] for change in shown["changes"]} == {"authorized-domains", "users"}


def test_a_scope_follows_its_domain_name_to_the_restored_row(admin, office, charlie):
    number = now()
    services.remove_domain(office, actor="alice")
    again = services.register_domain(actor="alice", name="office.example", access="public")
    accounts.change_user(charlie, actor="alice", authorized_domains=[again])

    admin.post(f"/policy/revisions/{number}/restore")

    assert [domain.pk for domain in charlie.authorized_domains.all()] == [office.pk]


def test_rows_deleted_with_a_domain_are_restored_with_it(admin, office):
    services.allow_network(actor="alice", network="203.0.113.7", domain=office)
    services.create_waf_rule(actor="alice", name="mine", pattern="x", domain=office)
    before, number = the_rows(), now()
    services.remove_domain(office, actor="alice")

    admin.post(f"/policy/revisions/{number}/restore")

    assert the_rows() == before


def test_rows_are_found_by_the_domain_and_not_by_its_name(admin, office):
    services.allow_network(actor="alice", network="203.0.113.7", domain=office)
    before, number = the_rows(), now()
    services.change_domain(office, actor="alice", name="new.example")
    other = services.register_domain(actor="alice", name="office.example", access="public")
    entry = AllowlistEntry.objects.get()
    services.change_allowed_network(entry, actor="alice", domain=other)
    services.disallow_network(entry, actor="alice")

    admin.post(f"/policy/revisions/{number}/restore")

    rows = the_rows()
    assert (rows["AllowlistEntry"], rows["AuthorizedDomain"]) == (before["AllowlistEntry"], before["AuthorizedDomain"])


def test_a_domain_that_was_renamed_among_other_changes_keeps_its_rows(admin, office):
    """In one revision: changes before the rename have the old name of the domain, later ones the new name."""
    old = services.allow_network(actor="", network="192.0.2.1", domain=office)
    base = revisions.current().revision
    with revisions.as_one_revision("bulk"):
        services.allow_network(actor="", network="192.0.2.2", domain=office)
        services.change_domain(office, actor="", name="renamed.example")
        services.disallow_network(old, actor="")
    between = revisions.current().revision

    assert admin.post(f"/policy/revisions/{base}/restore", {}).status_code == 200
    assert AuthorizedDomain.objects.get(pk=office.pk).name == office.name
    assert [(str(row), row.domain_id) for row in AllowlistEntry.objects.all()] == [("192.0.2.1", office.pk)]
    assert admin.post(f"/policy/revisions/{between}/restore", {}).status_code == 200
    assert [(str(row), row.domain_id) for row in AllowlistEntry.objects.all()] == [("192.0.2.2", office.pk)]
    assert AuthorizedDomain.objects.get(pk=office.pk).name == "renamed.example"


def test_automatic_bans_stay_as_they_are(admin):
    end = timezone.now() + timedelta(hours=1)
    number = now()
    ban = services.block_network(actor="auto-ban", network="203.0.113.7", source="auto-ban", expires_at=end)
    gone = services.block_network(actor="auto-ban", network="203.0.113.8", source="auto-ban")
    services.change_blocked_network(gone, actor="alice", remark="x")
    with_both = now()
    services.unblock_network(gone, actor="alice")

    for each in (number, with_both):
        assert admin.post(f"/policy/revisions/{each}/restore").status_code == 200

    assert list(BlocklistEntry.objects.values_list("pk", "expires_at")) == [(ban.pk, end)]


def test_built_in_rules_stay_and_keep_their_pattern(admin, office):
    number = now()
    seed_waf_rules(actor="seed")
    rule = WafRule.objects.get(builtin_key="xss-script-tag")
    pattern = rule.pattern
    WafRule.objects.filter(pk=rule.pk).update(pattern="of an older version", operator="contains")
    seeded = now()
    services.change_waf_rule(rule, actor="alice", score=1, enabled=False, domain=office, name="mine")
    seed_waf_rules(actor="seed")

    assert admin.post(f"/policy/revisions/{seeded}/restore").status_code == 200
    rule = WafRule.objects.get(pk=rule.pk)
    assert (rule.score, rule.enabled, rule.domain, rule.name) == (5, True, None, "xss-script-tag")
    assert (rule.pattern, rule.operator, rule.builtin_key) == (pattern, "regex", "xss-script-tag")
    assert admin.post(f"/policy/revisions/{number}/restore").status_code == 200
    assert WafRule.objects.filter(builtin_key__isnull=False).count() > 10


def test_a_built_in_rule_makes_room_for_the_rule_of_a_person(admin):
    mine = services.create_waf_rule(actor="alice", name="xss-script-tag", pattern="x")
    number = now()
    services.delete_waf_rule(mine, actor="alice")
    seed_waf_rules(actor="seed")

    assert admin.post(f"/policy/revisions/{number}/restore").status_code == 200

    assert WafRule.objects.get(name="xss-script-tag").pk == mine.pk
    assert WafRule.objects.get(builtin_key="xss-script-tag").name == "xss-script-tag-builtin"


def test_swapped_domain_names_are_restored(admin):
    one, two = (services.register_domain(actor="alice", name=f"{name}.example", access="public") for name in "ab")
    before, number = the_rows(), now()
    for domain, name in ((one, "c.example"), (two, "a.example"), (one, "b.example")):
        services.change_domain(domain, actor="alice", name=name)

    admin.post(f"/policy/revisions/{number}/restore")

    assert the_rows() == before


@pytest.mark.parametrize(
    ("resource", "source", "status"),
    [("ip-black-list", "import:feed", 409), ("ip-black-list", "auto-ban", 200), ("users", "", 200)],
)
def test_a_restore_is_refused_only_if_unrecorded_changes_concern_restored_rows(admin, resource, source, status):
    number = now()
    with transaction.atomic():
        made = [Change(resource, id_, "x", Action.CREATED, {}, {"source": source}) for id_ in range(1001)]
        revisions.advance(actor="import", changes=made)

    response = admin.post(f"/policy/revisions/{number}/restore")

    assert response.status_code == status
    if status == 409:
        assert response.json()["code"] == "cannot-restore"
        assert f"revision {number + 1} " in response.json()["detail"]


@pytest.mark.parametrize("lost", [{"changes": None, "counts": None}, None], ids=["not recorded", "missing"])
def test_a_restore_across_a_missing_revision_is_refused(admin, lost):
    number = now()
    services.block_country(actor="alice", country_code="NZ")
    services.block_country(actor="alice", country_code="AU")
    between = PolicyRevision.objects.filter(pk=number + 1)
    between.update(**lost) if lost else between.delete()

    response = admin.post(f"/policy/revisions/{number}/restore")

    assert (response.status_code, response.json()["code"]) == (409, "cannot-restore")
    assert str(number + 1) in response.json()["detail"]


def test_a_row_that_became_invalid_is_not_restored(admin):
    rule = services.create_waf_rule(actor="alice", name="mine", pattern="x")
    number = now()
    services.delete_waf_rule(rule, actor="alice")
    revision = PolicyRevision.objects.get(pk=now())
    revision.changes[0]["before"]["pattern"] = "("
    revision.save()

    response = admin.post(f"/policy/revisions/{number}/restore")

    assert (response.status_code, response.json()["code"]) == (409, "cannot-restore")
    assert not WafRule.objects.exists()


@pytest.mark.parametrize("body", [{"force": "yes"}, {"colour": "red"}, [], "x", {"force": 1}])
def test_invalid_bodies_are_refused(admin, body):
    assert admin.post("/policy/revisions/1/restore", body).status_code == 400


def test_a_restore_that_shuts_the_caller_out_is_refused(alice, wall):
    caller = wall.Api(wall.a_token(alice), **{"X-Forwarded-For": "198.51.100.7"})
    entry = services.block_network(actor="x", network="198.51.100.0/24")
    number = now()
    services.unblock_network(entry, actor="x")
    before = the_rows(), now()

    refused = caller.post(f"/policy/revisions/{number}/restore")

    assert (refused.status_code, refused.json()["code"]) == (409, "would-lock-you-out")
    assert (the_rows(), now()) == before
    assert caller.post(f"/policy/revisions/{number}/restore", {"force": True}).status_code == 200
    assert BlocklistEntry.objects.get().pk == entry.pk


def test_passwords_outlive_a_restore(admin, anonymous, bob):
    number = now()
    accounts.change_user(bob, actor="alice", password=f"{PASSWORD} 2")
    services.block_country(actor="alice", country_code="NZ")

    admin.post(f"/policy/revisions/{number}/restore")

    body = {"username": "Bob", "password": f"{PASSWORD} 2"}
    assert anonymous.post("/login", body).status_code == 200
