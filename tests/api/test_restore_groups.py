"""A restore brings groups back with their scopes, but without their members."""

import pytest

from accounts.services import change_user
from gatewall.models import PolicyRevision
from policies import services
from policies.access_rules.services import create_access_rule
from policies.groups.services import change_group, create_group, delete_group
from policies.history.rollback import take_back
from policies.models import AccessRule, AuthorizedDomain, Group
from tests.support.history import now
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def family(office):
    return create_group(actor="", name="family", authorized_domains=[office])


@pytest.fixture
def restore(admin):
    """Return a function that restores the policy of a revision, and returns what changed."""

    def to(number):
        response = admin.post(f"/policy/revisions/{number}/restore")
        assert response.status_code == 200, response.content
        return {(change["resource"], change["name"]) for change in response.json()["changes"]}

    return to


def scope_of(group):
    row = Group.objects.get(pk=group.pk)
    return row.name, row.all_domains, [domain.name for domain in row.authorized_domains.all()]


def test_a_scope_comes_back_and_the_members_stay(restore, auth, bob, family):
    change_user(bob, actor="", all_domains=False, groups=[family])
    token, number = a_token(bob), now()
    change_group(family, actor="", name="relatives", authorized_domains=[], description="new")
    assert auth(service_authorization=token).reason == "host-not-in-scope"

    changed = restore(number)

    assert changed == {("groups", "family")}
    assert scope_of(family) == ("family", False, ["office.example"])
    assert auth(service_authorization=token).reason == "session-valid"


def test_a_deleted_group_comes_back_without_members(restore, bob, family):
    change_user(bob, actor="", groups=[family])
    number = now()
    delete_group(family, actor="")

    restore(number)

    assert scope_of(family) == ("family", False, ["office.example"])
    assert not bob.groups.exists()


def test_a_group_removed_by_a_restore_takes_its_scope_from_its_members(restore, auth, bob):
    number = now()
    staff = create_group(actor="", name="staff", all_domains=True)
    change_user(bob, actor="", all_domains=False, groups=[staff])
    token = a_token(bob)
    assert auth(service_authorization=token).reason == "session-valid"

    changed = restore(number)

    assert changed == {("groups", "staff"), ("users", "Bob")}
    assert auth(service_authorization=token).reason == "host-not-in-scope"


def test_a_domain_comes_back_into_the_scope_of_a_group(restore, office, family):
    number = now()
    services.remove_domain(office, actor="")
    assert scope_of(family) == ("family", False, [])

    restore(number)

    assert scope_of(family) == ("family", False, ["office.example"])


def test_a_domain_removed_by_a_restore_leaves_the_scope_of_a_group(restore, family):
    number = now()
    new = services.register_domain(actor="", name="new.example", access="authenticated")
    change_group(family, actor="", authorized_domains=[new])

    restore(number)

    assert scope_of(family) == ("family", False, ["office.example"])
    assert not AuthorizedDomain.objects.filter(name="new.example").exists()


def test_swapped_group_names_are_restored(restore, family):
    other = create_group(actor="", name="other")
    number = now()
    for group, name in ((family, "between"), (other, "family"), (family, "other")):
        change_group(group, actor="", name=name)

    restore(number)

    assert (scope_of(family)[0], scope_of(other)[0]) == ("family", "other")


def test_a_rule_is_disabled_when_a_restore_removes_its_group(alice):
    before = now()
    group = create_group(actor="", name="family")
    made = now()
    create_access_rule(actor="", name="for the family", access="authenticated", groups=[group])

    take_back(before, made, actor="alice")

    rule = AccessRule.objects.get()
    assert (rule.enabled, rule.groups.count(), Group.objects.count()) == (False, 0, 0)
    changed = {(change["resource"], change["action"]) for change in PolicyRevision.objects.latest("number").changes}
    assert changed == {("groups", "deleted"), ("access-rules", "changed")}
