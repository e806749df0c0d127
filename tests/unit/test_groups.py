"""Scope of a user in groups: the union of the user's own scope and those of the groups."""

from dataclasses import replace

from gatewall.engine.groups import GroupState, GroupTable
from gatewall.engine.model import CredentialKind
from tests.support.cast import (
    BOB,
    BOBS_GIT_TOKEN,
    CHARLIE,
    CHARLIES_GIT_TOKEN,
    NOW,
    OFFICE,
    a_credential,
    a_credential_check,
    a_policy,
    a_session_token,
)

FAMILY = GroupState(1, "family", False, frozenset({"photos.example"}))
GUESTS = GroupState(2, "guests", False, frozenset({OFFICE, "films.example"}))
STAFF = GroupState(3, "staff", True, frozenset({"hidden.example"}))


def of_groups(user, *groups):
    """Return the subjects of a session and a git token of this user, who is in these groups and a deleted one."""
    member = replace(user, groups=frozenset({*(group.id for group in groups), 99}))
    policy = a_policy(users=[member], groups=[FAMILY, GUESTS, STAFF])
    token = {BOB.id: BOBS_GIT_TOKEN, CHARLIE.id: CHARLIES_GIT_TOKEN}[user.id]
    for credential in (
        a_credential(a_session_token(user)),
        a_credential(token, CredentialKind.GIT_TOKEN, user.username),
    ):
        subject = a_credential_check().subject_of(credential, policy, NOW)
        assert subject is not None
        yield subject


def test_scope_is_the_union_of_the_users_and_that_of_every_group():
    for subject in of_groups(CHARLIE, GUESTS, FAMILY):
        assert subject.groups == ("family", "guests")
        assert subject.group_ids == {1, 2}
        assert subject.domains == {OFFICE, "photos.example", "films.example"}
        assert not subject.all_domains
        assert [subject.may_enter(name) for name in (OFFICE, "photos.example", "other.example", None)] == [
            True, True, False, False,
        ]  # fmt: skip


def test_a_group_of_all_domains_opens_all_and_lists_none():
    for subject in of_groups(CHARLIE, FAMILY, STAFF):
        assert subject.may_enter("other.example")
        assert subject.may_enter(None)
        assert subject.names("photos.example")
        assert not subject.names("hidden.example")


def test_group_lists_a_domain_also_for_a_user_of_all_domains():
    for subject in of_groups(replace(BOB, domains=frozenset({"unused.example"})), FAMILY):
        assert subject.names("photos.example")
        assert not subject.names("unused.example")


def test_a_group_covers_its_listed_domains_or_everything():
    assert [FAMILY.covers(name) for name in ("photos.example", OFFICE, None)] == [True, False, False]
    assert [STAFF.covers(name) for name in (OFFICE, None)] == [True, True]


def test_tables_of_equal_groups_are_equal():
    assert GroupTable([FAMILY, STAFF]) == GroupTable([STAFF, FAMILY]) != GroupTable([FAMILY])


def test_scopes_of_more_users_than_are_remembered_are_right():
    table = GroupTable([FAMILY])
    for number in range(2000):
        name = f"{number}.example"
        scope = table.scope(frozenset({1}), all_domains=False, domains=frozenset({name}))
        assert scope.domains == {name, "photos.example"}


def test_a_table_lists_its_groups():
    assert set(GroupTable([FAMILY, GUESTS]).all()) == {FAMILY, GUESTS}
