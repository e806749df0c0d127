"""Groups: names, scopes, members, and the effect of deleting a group or a domain on members."""

import pytest

from accounts.models import User
from gatewall.models import PolicyRevision
from policies.groups import members, services
from policies.models import AuthorizedDomain, Group
from tests.api.resources import fields_refused
from tests.support.proxies import PASSWORD

pytestmark = pytest.mark.django_db


def code(response):
    return response.status_code, response.json()["code"]


def a_group(admin, name="family", **fields):
    response = admin.post("/groups", {"name": name, **fields})
    assert response.status_code == 201, response.content
    return response.json()


def changes_of_last_revision():
    changes = PolicyRevision.objects.latest("number").changes
    return [(change["resource"], change["name"], change["before"], change["after"]) for change in changes]


def test_a_group_has_a_scope_and_members(admin, office, charlie):
    group = a_group(admin, authorized_domains=["OFFICE.example"], description="at home")
    admin.put(f"/users/{charlie.pk}", {"groups": ["family"]})

    shown = admin.get(f"/groups/{group['id']}").json()

    assert shown["authorized_domains"] == ["office.example"]
    assert shown["member_count"] == 1
    assert admin.get(f"/users/{charlie.pk}").json()["groups"] == ["family"]


@pytest.mark.parametrize("name", ["", "Family", "a b", "x" * 65, "famil\u00ed", "a,b", "admins", "a\nb", None, 7])
def test_a_name_that_cannot_be_listed_in_a_header_is_refused(admin, name):
    assert fields_refused(admin.post("/groups", {"name": name})) == {"name"}


def test_a_name_may_have_dots_hyphens_underscores_and_digits(admin):
    assert a_group(admin, "a.b-c_9")["name"] == "a.b-c_9"


def test_a_second_group_of_a_name_is_a_duplicate(admin):
    other = a_group(admin, "guests")
    a_group(admin)

    assert code(admin.post("/groups", {"name": "family"})) == (409, "duplicate")
    assert code(admin.put(f"/groups/{other['id']}", {"name": "family"})) == (409, "duplicate")


def test_an_unregistered_domain_is_refused(admin):
    response = admin.post("/groups", {"name": "family", "authorized_domains": ["other.example"]})

    assert fields_refused(response) == {"authorized_domains.0"}


@pytest.mark.parametrize("write", ["post", "put"])
def test_a_group_that_does_not_exist_is_named(admin, charlie, write):
    a_group(admin)
    body = {"groups": ["family", "familly"]}

    if write == "post":
        response = admin.post("/users", {"username": "dora", "password": PASSWORD, **body})
    else:
        response = admin.put(f"/users/{charlie.pk}", body)

    assert fields_refused(response) == {"groups.1"}
    assert "familly" in response.json()["errors"][0]["message"]


def test_a_user_is_in_a_bounded_number_of_groups(admin, charlie):
    names = [f"group{number}" for number in range(members.MAX_GROUPS_OF_A_USER + 1)]
    Group.objects.bulk_create(Group(name=name) for name in names)

    assert fields_refused(admin.put(f"/users/{charlie.pk}", {"groups": names})) == {"groups"}
    assert admin.put(f"/users/{charlie.pk}", {"groups": names[1:]}).status_code == 200


def test_the_number_of_groups_is_bounded(admin, monkeypatch):
    monkeypatch.setattr(services, "MAX_GROUPS", 1)
    a_group(admin)

    assert code(admin.post("/groups", {"name": "guests"})) == (409, "too-many-groups")


def test_users_are_found_by_their_group_and_groups_by_their_domain(admin, office, charlie, bob):
    a_group(admin, authorized_domains=["office.example"])
    a_group(admin, "guests", all_domains=True)
    admin.put(f"/users/{charlie.pk}", {"groups": ["family"]})

    def names(path, field):
        return [row[field] for row in admin.get(path).json()["results"]]

    assert names("/users?group=family", "username") == ["charlie"]
    assert names("/groups?authorized_domain=office.example", "name") == ["family"]
    assert names("/groups?all_domains=true", "name") == ["guests"]
    assert names("/groups?member_count=1", "name") == ["family"]
    assert names("/groups?ordering=-member_count", "name") == ["family", "guests"]


def test_a_change_of_members_is_recorded_with_the_user(admin, charlie):
    a_group(admin)

    admin.put(f"/users/{charlie.pk}", {"groups": ["family"]})

    assert changes_of_last_revision() == [("users", "charlie", {"groups": []}, {"groups": ["family"]})]


def test_deleting_a_group_takes_its_scope_from_its_members_and_records_it(admin, charlie, bob):
    group = a_group(admin, all_domains=True)
    a_group(admin, "guests")
    admin.put(f"/users/{charlie.pk}", {"groups": ["family", "guests"]})
    scope_before = {name: admin.get(f"/users/{charlie.pk}").json()[name] for name in ("all_domains", "remark")}

    assert admin.delete(f"/groups/{group['id']}").status_code == 204

    user = admin.get(f"/users/{charlie.pk}").json()
    assert user["groups"] == ["guests"]
    assert {name: user[name] for name in scope_before} == scope_before
    changed = changes_of_last_revision()
    assert [change[:2] for change in changed] == [("groups", "family"), ("users", "charlie")]
    assert changed[1][2:] == ({"groups": ["family", "guests"]}, {"groups": ["guests"]})


def test_a_removed_domain_leaves_the_scope_of_a_group_without_widening_it(admin, office):
    group = a_group(admin, authorized_domains=["office.example"])

    admin.delete(f"/authorized-domains/{office.pk}?force=true")

    shown = admin.get(f"/groups/{group['id']}").json()
    assert (shown["all_domains"], shown["authorized_domains"]) == (False, [])
    (changed,) = [change for change in changes_of_last_revision() if change[0] == "groups"]
    assert [side["authorized_domains"] for side in changed[2:]] == [["office.example"], []]


def test_a_group_that_is_gone_when_the_user_is_written_is_refused(admin, charlie, monkeypatch):
    a_group(admin)
    monkeypatch.setattr(
        "accounts.services.groups_of_a_user", lambda groups: _delete_first(groups) or members.groups_of_a_user(groups)
    )

    assert code(admin.put(f"/users/{charlie.pk}", {"groups": ["family"]})) == (409, "group-removed")
    assert User.objects.get(pk=charlie.pk).groups.count() == 0


def _delete_first(groups):
    Group.objects.filter(pk__in=[group.pk for group in groups]).delete()


def test_the_scope_of_a_group_is_changed_as_a_whole(admin, office):
    other = AuthorizedDomain.objects.create(name="other.example")
    group = a_group(admin, authorized_domains=["office.example"])

    shown = admin.put(f"/groups/{group['id']}", {"authorized_domains": [other.name], "description": "new"}).json()

    assert shown["authorized_domains"] == ["other.example"]
    assert shown["description"] == "new"
