"""The scopes that an API token needs to apply a plan or a document."""

import pytest

from gatewall.policy import revisions
from policies.document.export import export
from tests.support.proxies import a_user, an_api_token, with_api_token

pytestmark = pytest.mark.django_db


def apply(caller, **body):
    return caller.post("/policy/apply", body)


def outcome(answer):
    return answer.status_code, answer.json().get("code")


@pytest.mark.parametrize(
    ("change", "scope"),
    [
        ({"resource": "users", "change": "update", "values": {"all_domains": True}}, "users:write"),
        ({"resource": "system/settings", "values": {"waf_mode": "off"}}, "system:write"),
    ],
)
@pytest.mark.parametrize("is_listed", [False, True])
def test_a_token_needs_the_scope_of_each_change_of_a_plan(admin, alice, office, change, scope, is_listed):
    user = a_user("bob")
    change = {**change, "id": user.pk} if "change" in change else change
    digest = admin.post("/policy/plan", {"changes": [change]} if is_listed else change).json()["digest"]
    policy = with_api_token(an_api_token(alice, "policy:write", name="policy"))
    both = with_api_token(an_api_token(alice, "policy:write", scope, name="both"))

    assert outcome(apply(policy, digest=digest)) == (403, "scope-missing")
    assert apply(both, digest=digest).status_code == 200


def test_a_token_needs_a_scope_for_the_settings_of_a_document(admin, alice, office):
    """Through a plan, directly, and as the shadow policy; unchanged settings need no scope."""
    policy = with_api_token(an_api_token(alice, "policy:write", name="policy"))
    both = with_api_token(an_api_token(alice, "policy:write", "system:write", name="both"))
    same = export({"settings"}).canonical().decode()
    other = same.replace("waf_mode: block", "waf_mode: monitor")
    assert other != same
    number, digest = revisions.current().revision, admin.post("/policy/plan", {"document": other}).json()["digest"]
    assert admin.put("/policy/shadow", {"document": other, "percent": 1}).status_code == 200

    assert outcome(apply(policy, digest=digest)) == (403, "scope-missing")
    assert outcome(apply(policy, document=other, if_revision=number)) == (403, "scope-missing")
    assert outcome(policy.post("/policy/shadow/promote", {})) == (403, "scope-missing")
    assert apply(policy, document=same, if_revision=number).status_code == 200
    assert apply(both, document=other, if_revision=number).status_code == 200


def test_no_token_applies_a_plan_that_changes_an_admin(admin, alice, office):
    change = {"resource": "users", "change": "update", "id": alice.pk, "values": {"all_domains": True}}
    digest = admin.post("/policy/plan", change).json()["digest"]

    assert outcome(apply(with_api_token(an_api_token(alice)), digest=digest)) == (403, "session-required")
