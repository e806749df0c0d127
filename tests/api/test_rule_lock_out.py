"""The lockout guard for access rules: a rule that would refuse its author at a registered host must be forced."""

from dataclasses import replace
from ipaddress import ip_address

import pytest

from gatewall.engine.hosts import Host
from gatewall.engine.snapshot import Segment
from gatewall.kernel.clientip import Caller
from gatewall.models import PendingConfirmation
from policies import policy_source, services
from policies.access_rules.services import create_access_rule
from policies.history.confirmation import revert
from policies.history.restore import preview
from policies.history.rule_lockout import decisions
from policies.models import AccessRule
from tests.support.proxies import Api, a_token, a_user

pytestmark = pytest.mark.django_db

ME = "198.51.100.7"
DENY = {"name": "mine", "access": "denied"}


@pytest.fixture
def me(alice, office):
    """Return a client of Alice, an admin, who comes through the proxy from ``ME``; her site is office.example."""
    return Api(a_token(alice), **{"X-Forwarded-For": ME, "Host": "gate.example"})


def caller_of(user):
    return Caller(ip_address(ME), Host("gate.example"), user_id=user.pk, amr=("pwd",))


def assert_refused(response, rule="mine", host="office.example"):
    assert (response.status_code, response.json()["code"]) == (409, "would-lock-you-out"), response.content
    assert f"the rule {rule} would refuse you at {host}" in response.json()["detail"]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"domains": ["office.example"]},
        {"paths": [{"match": "exact", "value": "/"}], "methods": ["GET"]},
        {"networks": ["198.51.100.0/24"]},
        {"users": ["alice"]},
        {"credential_kinds": ["session"], "groups": ["family"]},
    ],
)
def test_a_rule_against_its_author_is_refused(me, alice, values):
    alice.groups.create(name="family")

    assert_refused(me.post("/access-rules", {**DENY, **values}))
    assert not AccessRule.objects.exists()
    assert me.post("/access-rules", {**DENY, **values, "enabled": False}).status_code == 201


@pytest.mark.parametrize(
    "values",
    [
        {"domains": ["other.example"]},
        {"paths": [{"match": "prefix", "value": "/admin"}]},
        {"methods": ["POST"]},
        {"networks": ["203.0.113.0/24"]},
        {"countries": ["DE"]},
        {"users": ["bob"]},
        {"credential_kinds": ["license"]},
        {"expires_at": "2020-01-01T00:00:00Z"},
        {"access": "phishing_resistant"},
    ],
)
def test_a_rule_against_others_is_accepted(me, bob, values):
    services.register_domain(actor="x", name="other.example", access="denied")

    assert me.post("/access-rules", {**DENY, **values}).status_code == 201


def test_a_session_is_judged_by_its_own_factors(alice, office):
    """The first rule admits a session with a second factor, and challenges one without instead of refusing it."""
    create_access_rule(actor="x", name="first", access="two_factor")

    for amr, is_refused in ((("pwd",), False), (("pwd", "otp"), True)):
        me = Api(a_token(alice, amr=amr), **{"X-Forwarded-For": ME, "Host": "gate.example"})
        response = me.post("/access-rules", {**DENY, "position": 1})
        assert (response.status_code == 409) is is_refused
        AccessRule.objects.filter(name="mine").delete()


def test_a_rule_for_a_wildcard_domain_is_guarded_too(me):
    services.register_domain(actor="x", name="*.lab.example", access="authenticated")

    assert_refused(me.post("/access-rules", {**DENY, "domains": ["*.lab.example"]}), host="*.lab.example")


def test_moving_changing_and_deleting_are_guarded(me):
    opens = me.post("/access-rules", {"name": "opens", "access": "authenticated"}).json()["id"]
    mine = me.post("/access-rules", DENY).json()["id"]

    assert_refused(me.put(f"/access-rules/{mine}", {"position": 1}))
    assert_refused(me.put(f"/access-rules/{opens}", {"enabled": False}))
    assert_refused(me.delete(f"/access-rules/{opens}"))
    assert [rule.name for rule in AccessRule.objects.all()] == ["opens", "mine"]
    assert me.put(f"/access-rules/{mine}", {"remark": "same"}).status_code == 200
    assert me.delete(f"/access-rules/{opens}?force=true").status_code == 204


def test_an_already_refused_caller_is_not_guarded(me):
    services.block_network(actor="x", network=ME)

    assert me.post("/access-rules", DENY).status_code == 201


def test_an_allowlisted_caller_is_not_guarded(me):
    services.allow_network(actor="x", network=ME)

    assert me.post("/access-rules", DENY).status_code == 201


def test_a_forced_rule_is_reverted_unless_confirmed(me):
    body = me.post("/access-rules", {**DENY, "force": True}).json()
    pending = PendingConfirmation.objects.get()
    assert body["confirm_by"]

    assert_refused(me.post("/access-rules", {**DENY, "name": "again"}), rule="mine")
    revert(pending.revision, actor="system")
    assert not AccessRule.objects.exists()


def test_a_restore_and_its_preview_are_guarded(me, alice):
    id_ = me.post("/access-rules", {**DENY, "force": True}).json()["id"]
    past = PendingConfirmation.objects.get().revision
    PendingConfirmation.objects.all().delete()
    me.delete(f"/access-rules/{id_}")

    caller = caller_of(alice)
    assert preview(past, caller=caller).locks_out
    assert not preview(past, caller=replace(caller, user_id=None)).locks_out
    assert_refused(me.post(f"/policy/revisions/{past}/restore", {}))


def test_a_caller_on_this_machine_is_not_guarded(me, alice, office):
    assert Api(a_token(alice)).post("/access-rules", DENY).status_code == 201


def test_a_user_of_a_group_is_judged_by_its_scope(office):
    zoe = a_user("zoe", is_admin=True)
    me = Api(a_token(zoe), **{"X-Forwarded-For": ME, "Host": "gate.example"})

    assert_refused(me.post("/access-rules", DENY))


def test_the_guard_reads_each_relevant_segment_once(alice, office, monkeypatch, django_assert_num_queries):
    read = []
    for name, rows in list(policy_source.SEGMENTS.items()):
        monkeypatch.setitem(policy_source.SEGMENTS, name, lambda name=name, rows=rows: read.append(name) or rows())

    with django_assert_num_queries(13):
        decisions(caller_of(alice))

    unread = {Segment.ALLOWED_NETWORKS, Segment.WAF_RULES, Segment.SHARE_LINKS, Segment.DEVICE_PASSES}
    assert sorted(read) == sorted(policy_source.SEGMENTS.keys() - unread)
