"""The scope in an explanation: the user's own scope, their groups, or their admin right."""

import pytest

from policies.groups.services import create_group
from policies.services import register_domain
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import a_git_token, a_license, a_token, a_user

pytestmark = pytest.mark.django_db
NOBODY = {"admin": False, "own": False, "groups": [], "token": None}


@pytest.fixture
def groups(office):
    """Return three groups: two may enter office.example, the third only another host."""
    other = register_domain(actor="", name="other.example", access="authenticated", seed=True)
    return {
        "family": create_group(actor="", name="family", authorized_domains=[office]),
        "staff": create_group(actor="", name="staff", all_domains=True),
        "guests": create_group(actor="", name="guests", authorized_domains=[other]),
    }


@pytest.fixture
def explained(admin):
    """Return a function that explains a visit with a credential and returns reason and scope."""

    def ask(kind, token, host=OFFICE):
        visit = {"client_ip": CLIENT, "host": host, "method": "GET", "uri": "/"}
        answer = admin.post("/policy/explain", {**visit, "credential": {"kind": kind, "token": token}}).json()
        return answer["decision"]["reason"], answer["scope"]

    return ask


@pytest.mark.parametrize(
    ("values", "member_of", "scope"),
    [
        ({"all_domains": False}, ["family", "guests"], {"groups": ["family"]}),
        ({"all_domains": False}, ["staff", "guests", "family"], {"groups": ["family", "staff"]}),
        ({}, ["family"], {"own": True, "groups": ["family"]}),
        ({}, [], {"own": True}),
        ({"all_domains": False, "is_admin": True}, [], {"admin": True}),
    ],
)
def test_an_explanation_names_the_source_of_the_scope(explained, groups, values, member_of, scope):
    user = a_user("dora", groups=[groups[name] for name in member_of], **values)

    assert explained("session", a_token(user)) == ("session-valid", {**NOBODY, **scope})


def test_a_user_without_the_domain_in_any_scope_is_refused(explained, groups):
    user = a_user("dora", all_domains=False, groups=[groups["guests"]])

    assert explained("session", a_token(user)) == ("host-not-in-scope", NOBODY)


def test_a_git_token_enters_through_the_groups_of_its_user(explained, groups):
    user = a_user("dora", all_domains=False, groups=[groups["family"]])

    expected = ("git-token-valid", {**NOBODY, "groups": ["family"]})
    assert explained("git-token", f"dora:{a_git_token(user)}") == expected


def test_a_license_has_only_its_own_scope(explained, groups, office):
    token = a_license(all_domains=False, authorized_domains=[office])

    assert explained("license", token) == ("license-valid", {**NOBODY, "own": True})
    assert explained("license", token, host="other.example") == ("host-not-in-scope", NOBODY)


def test_a_host_that_is_not_registered_is_entered_through_a_group_of_all_domains(explained, groups):
    user = a_user("dora", all_domains=False, groups=[groups["family"], groups["staff"]])

    assert explained("session", a_token(user), host="new.example")[1] == {**NOBODY, "groups": ["staff"]}


def test_without_a_subject_there_is_no_scope(explained, groups):
    assert explained("session", "e30.e30.x") == ("credential-invalid", None)


def test_a_recorded_answer_shows_its_subjects_current_scope(admin, visits, groups):
    user = a_user("dora", all_domains=False, groups=[groups["family"]])
    decision_id = visits(service_authorization=a_token(user))

    def again():
        return admin.get(f"/access-logs/{decision_id}?again=true").json()["again"]

    assert again()["scope"] == {**NOBODY, "groups": ["family"]}
    admin.put(f"/users/{user.pk}", {"groups": []})
    assert again()["scope"] == NOBODY
    assert again()["decision"]["reason"] == "host-not-in-scope"
    assert admin.get(f"/access-logs/{visits()}?again=true").json()["again"]["scope"] is None
