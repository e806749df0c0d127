"""The policy document: export, apply and export again give identical bytes."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from accounts.services import create_user, delete_user
from gatewall.kernel.changes import Action
from gatewall.kernel.refusals import Conflict
from gatewall.models import PolicyRevision
from gatewall.policy import revisions, system_settings
from policies import services
from policies.access_rules.services import create_access_rule
from policies.document.applying import apply
from policies.document.comparison import changes
from policies.document.document import DocumentRefused
from policies.document.export import export
from policies.document.reading import read
from policies.groups.services import create_group, delete_group
from policies.lists.subscriptions import subscribe
from policies.models import AccessRule, AllowlistEntry, BlocklistEntry, Expectation, GeoBlockRule, Group, WafRule
from policies.rules.builtin import seed_waf_rules

pytestmark = pytest.mark.django_db

WHOLE = b"""\
version: 1
settings:
  waf_mode: monitor
  contact: "ask: alice"
domains:
- name: office.example
  access: two_factor
- name: Files.Example
groups:
- name: staff
  authorized_domains: [office.example]
access_rules:
- name: uploads
  access: denied
  domains: [files.example]
  paths: [{match: prefix, value: /upload}]
  groups: [staff]
  users: [bob]
- name: night
  access: phishing_resistant
  weekdays: [sat, sun]
  from: "22:00"
  until: "06:00"
blocklist:
- ip: 203.0.113.9
- ip: 198.51.100.0/24
  remark: scanners
  expires_at: 2099-01-01T00:00:00Z
allowlist:
- ip: 192.0.2.1
  domain: office.example
- ip: 192.0.2.1
  inspect: true
countries:
- country_code: NO
waf_rules:
- name: no-debug
  pattern: '(?i)\\bdebug\\b'
  domain: files.example
  exclusions:
  - path_prefix: /help
    argument: q
builtin_waf_rules:
- key: xss-script-tag
  action: monitor
list_subscriptions:
- name: drop
  url: https://lists.example/drop.txt
expect:
- name: bob enters the office
  request:
    client: 203.0.113.1
    host: office.example
    as: {user: bob, amr: [pwd, otp]}
  effect: allow
  reason: session-valid
- name: nobody uploads
  request: {client: 203.0.113.1, host: files.example, uri: /upload/x, method: post}
  effect: challenge
"""


@pytest.fixture
def installed(db):
    """Create the built-in rules and a user."""
    seed_waf_rules(actor="seed")
    create_user(actor="x", username="Bob", password="correct horse battery")


def test_a_document_is_applied_and_exported_unchanged(installed):
    before = revisions.current().revision

    revision = apply(read(WHOLE), actor="carol")

    assert (revision.number, revision.actor) == (before + 1, "carol")
    assert [rule.name for rule in AccessRule.objects.all()] == ["uploads", "night"]
    assert [user.username for user in AccessRule.objects.get(name="uploads").users.all()] == ["Bob"]
    assert WafRule.objects.get(builtin_key="xss-script-tag").action == "monitor"
    assert Expectation.objects.get(name="nobody uploads").request["method"] == "POST"
    assert system_settings.current().authorized_domains_mode == "any"
    assert read(export().canonical()) == export()
    assert read(WHOLE).canonical() == export().canonical()


def test_applying_the_policy_in_force_makes_no_revision(installed):
    apply(read(WHOLE), actor="carol")
    before = revisions.current()

    assert changes(export()) == []
    assert apply(read(export().canonical()), actor="carol") is None
    assert apply(read(WHOLE), actor="carol") is None
    assert revisions.current() == before


def test_rows_missing_from_the_document_are_removed(installed):
    apply(read(WHOLE), actor="carol")
    ids = {rule.name: rule.pk for rule in AccessRule.objects.all()}
    text = b"version: 1\naccess_rules:\n- {name: night, access: denied}\n- {name: new, access: public}\nblocklist: []\n"

    found = [(each.section, each.name, each.action) for each in changes(read(text))]
    revision = apply(read(text), actor="carol")

    assert found == [
        ("access_rules", "uploads", Action.DELETED),
        ("access_rules", "night", Action.CHANGED),
        ("access_rules", "new", Action.CREATED),
        ("blocklist", "198.51.100.0/24", Action.DELETED),
        ("blocklist", "203.0.113.9", Action.DELETED),
    ]
    assert [(rule.name, rule.position) for rule in AccessRule.objects.all()] == [("night", 1), ("new", 2)]
    assert AccessRule.objects.get(name="night").pk == ids["night"]
    assert not BlocklistEntry.objects.exists()
    assert AllowlistEntry.objects.count() == 2  # an omitted section is not changed
    assert {change["resource"] for change in revision.changes} == {"access-rules", "ip-black-list"}


def test_bans_subscribed_and_expired_entries_stay(installed):
    past = timezone.now() - timedelta(days=1)
    services.block_network(actor="x", network="203.0.113.1", source="auto-ban")
    services.block_network(actor="x", network="203.0.113.2", source="import:drop")
    services.block_network(actor="x", network="203.0.113.3", expires_at=past)
    services.block_network(actor="x", network="203.0.113.4")

    assert [row["ip"] for row in export().tables["blocklist"].values()] == ["203.0.113.4"]
    apply(read(b"version: 1\nblocklist:\n- ip: 203.0.113.5\n"), actor="carol")

    left = set(BlocklistEntry.objects.values_list("network", flat=True))
    assert left == {f"203.0.113.{number}" for number in (1, 2, 3, 5)}
    apply(read(b"version: 1\nblocklist:\n- ip: 203.0.113.3\n"), actor="carol")
    assert BlocklistEntry.objects.get(network="203.0.113.3").expires_at is None


def test_rows_move_from_removed_to_new_groups_and_domains(installed):
    old = services.register_domain(actor="x", name="old.example", access="public")
    gone = create_group(actor="x", name="gone", authorized_domains=[old])
    create_access_rule(actor="x", name="rule", access="denied", domains=[old], groups=[gone])
    services.create_waf_rule(actor="x", name="own", pattern="abc", domain=old)
    services.allow_network(actor="x", network="192.0.2.1", domain=old)
    subscribe(actor="x", name="feed", url="https://lists.example/feed")
    ids = AccessRule.objects.get().pk, WafRule.objects.get(name="own").pk
    text = export().canonical().replace(b"old.example", b"new.example").replace(b"gone", b"here")

    revision = apply(read(text), actor="carol")

    assert export().canonical() == text
    assert (AccessRule.objects.get().pk, WafRule.objects.get(name="own").pk) == ids
    assert AccessRule.objects.get().enabled
    assert PolicyRevision.objects.latest("number") == revision


def test_a_built_in_rule_listed_with_its_defaults_is_omitted(installed):
    seed_waf_rules(actor="seed")
    document = read(b"version: 1\nbuiltin_waf_rules:\n- key: xss-script-tag\n")

    assert apply(document, actor="carol") is None
    assert document.canonical() == b"version: 1\nbuiltin_waf_rules: []\n"


def test_the_remark_of_a_country_changes_and_its_row_stays(installed):
    apply(read(b"version: 1\ncountries:\n- country_code: NO\n"), actor="carol")
    before = GeoBlockRule.objects.get().pk

    apply(read(b"version: 1\ncountries:\n- {country_code: NO, remark: spam}\n"), actor="carol")

    assert (GeoBlockRule.objects.get().pk, GeoBlockRule.objects.get().remark) == (before, "spam")


def test_a_document_that_was_applied_does_not_differ_once_its_entries_expire(installed):
    expired = b"version: 1\nblocklist:\n- {ip: 203.0.113.3, expires_at: 2020-01-01T00:00:00Z}\n- ip: 203.0.113.4\n"
    services.block_network(actor="x", network="203.0.113.3", expires_at=datetime(2020, 1, 1, tzinfo=UTC))
    services.block_network(actor="x", network="203.0.113.4")

    assert changes(read(expired)) == []
    assert apply(read(expired), actor="carol") is None


@pytest.mark.parametrize("gone", ["domain", "group", "user"])
def test_a_document_is_refused_if_a_row_it_names_was_deleted_since_it_was_read(installed, gone):
    domain = services.register_domain(actor="x", name="old.example", access="public")
    group = create_group(actor="x", name="old")
    named = {"domain": "domains: [old.example]", "group": "groups: [old]", "user": "users: [bob]"}
    document = read(f"version: 1\naccess_rules:\n- {{name: r, access: denied, {named[gone]}}}\n".encode())
    delete = {
        "domain": partial(services.remove_domain, domain),
        "group": partial(delete_group, group),
        "user": partial(delete_user, get_user_model().objects.get()),
    }
    delete[gone](actor="x")
    before = revisions.current()

    with pytest.raises(Conflict) as refused:
        apply(document, actor="carol")

    assert refused.value.code == f"{gone}-removed"
    assert revisions.current() == before


def test_refusals_by_the_services_have_a_line_and_are_listed_with_all_other_faults(installed):
    text = b"""version: 1
access_rules:
- name: lunch
  access: denied
  from: "12:00"
  until: "12:00"
- {name: open, access: public, users: [bob]}
waf_rules:
- {name: broken, pattern: "["}
list_subscriptions:
- {name: inside, url: "https://10.0.0.1/list"}
expect: 3
"""

    with pytest.raises(DocumentRefused) as refused:
        read(text)

    places = [(error.line, error.pointer) for error in refused.value.errors]
    assert places == [
        (6, "/access_rules/0/until"),
        (7, "/access_rules/1/access"),
        (9, "/waf_rules/0/pattern"),
        (11, "/list_subscriptions/0/url"),
        (12, "/expect"),
    ]


def places_of(text):
    with pytest.raises(DocumentRefused) as refused:
        read(text)
    return [(error.line, error.pointer) for error in refused.value.errors]


def test_an_unknown_field_hides_no_other_fault(installed):
    text = b"""version: 1
domains:
- name: a.example
  access: open
  nam: x
access_rules:
- {name: rule, access: denied, groups: [nobody], users: [Nobody], domains: [no.example]}
groups: []
"""

    assert places_of(text) == [
        (4, "/domains/0/access"),
        (5, "/domains/0/nam"),
        (7, "/access_rules/0/groups"),
        (7, "/access_rules/0/users"),
    ]
    assert (5, "/access_rules/0/domains") in places_of(text.replace(b"  access: open\n  nam: x\n", b""))


def test_the_maximum_number_of_groups_can_be_replaced_by_others(db, monkeypatch):
    monkeypatch.setattr("policies.groups.services.MAX_GROUPS", 3)
    old = b"version: 1\naccess_rules: []\ngroups:\n- name: used\n- name: one\n- name: two\n"
    apply(read(old), actor="a")
    rule = b"access_rules:\n- name: shut\n  access: denied\n  groups: [used]\n"
    apply(read(b"version: 1\n" + rule), actor="a")

    made = apply(read(b"version: 1\n" + rule + b"groups:\n- name: used\n- name: three\n- name: four\n"), actor="a")

    assert set(Group.objects.values_list("name", flat=True)) == {"used", "three", "four"}
    assert {each["action"] for each in made.counts if each["resource"] == "groups"} == {"created", "deleted"}
    assert AccessRule.objects.get().groups.get().name == "used"
    assert made.number == revisions.current().revision
