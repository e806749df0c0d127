"""App profiles over the API: list and show them, apply them to a domain and remove them."""

import re

import pytest

from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from policies.app_profiles.loading import profiles
from policies.history.rollback import take_back
from policies.models import AccessRule, AuthorizedDomain, WafRule
from policies.rules.builtin import seed_waf_rules
from tests.api.resources import fields_refused

pytestmark = pytest.mark.django_db
PATH = "/app-profiles/gitea/apply"
EXCLUDING = "/app-profiles/paperless-ngx/apply"
KEYS = ["sqli-union-select", "sqli-in-text"]


@pytest.fixture(autouse=True)
def git(db):
    return AuthorizedDomain.objects.create(name="git.example", created_by="alice")


@pytest.fixture
def builtin(db):
    seed_waf_rules(actor="seed")


def test_all_profiles_are_listed(admin):
    body = admin.get("/app-profiles").json()

    assert (body["count"], body["next"], body["previous"]) == (10, None, None)
    assert [each["name"] for each in body["results"]] == list(profiles())
    assert admin.get("/app-profiles", {"all": "true"}).json() == body
    page = admin.get("/app-profiles", {"page": 4, "page_size": 3}).json()
    assert page["results"] == body["results"][9:]
    assert admin.get("/app-profiles", {"page": 5, "page_size": 3}).status_code == 404
    assert fields_refused(admin.get("/app-profiles", {"search": "x"})) == {"search"}


def test_a_profile_lists_its_rules_with_reasons_and_sources(admin):
    body = admin.get("/app-profiles/gitea").json()

    assert (body["name"], body["title"]) == ("gitea", "Gitea and Forgejo")
    assert all(source.startswith("https://") for source in body["sources"])
    fetch = body["rules"][0]
    assert (fetch["name"], fetch["access"], fetch["methods"]) == ("git-fetch", "public", ["GET", "HEAD"])
    assert fetch["paths"] == [{"match": "glob", "value": "/*/*/info/refs"}]
    assert fetch["opens"]
    assert fetch["safe_because"]
    assert "REQUIRE_SIGNIN_VIEW" in fetch["needs"]
    assert {"what", "reason"} == body["not_opened"][0].keys()


def test_applying_a_profile_makes_its_rules_in_one_revision_after_the_others(admin, builtin):
    admin.post("/access-rules", {"name": "mine", "access": "denied", "paths": [{"match": "exact", "value": "/x"}]})
    before = revisions.current().revision

    body = admin.post(PATH, {"domain": "git.example"}).json()

    expected = profiles()["gitea"].rules
    assert (body["profile"], body["domain"]) == ("gitea", "git.example")
    assert [(each["position"], each["name"]) for each in body["rules"]] == [
        (position, f"gitea git.example: {rule.name}") for position, rule in enumerate(expected, 2)
    ]
    assert len(body["warnings"]) == len([rule for rule in expected if rule.needs]) > 0
    revision = PolicyRevision.objects.latest("number")
    assert (revision.number, revision.actor) == (before + 1, "alice")
    assert body["waf_rules"] == []
    assert [change["name"] for change in revision.changes] == [
        *(each["name"] for each in body["rules"]),
        *body["waf_rules"],
    ]
    row = admin.get(f"/access-rules/{body['rules'][0]['id']}").json()
    assert (row["domains"], row["access"], row["enabled"]) == (["git.example"], "public", True)
    assert (row["methods"], row["paths"]) == (["GET", "HEAD"], [{"match": "glob", "value": "/*/*/info/refs"}])
    assert row["remark"] == f"{expected[0].opens} {expected[0].safe_because} {expected[0].needs}"
    assert row["created_by"] == "alice"


def test_rules_hidden_by_an_earlier_rule_are_warned_of(admin):
    admin.post("/access-rules", {"name": "closed", "access": "denied", "paths": [{"match": "prefix", "value": "/v2"}]})

    warnings = admin.post(PATH, {"domain": "git.example"}).json()["warnings"]

    (warning,) = [each for each in warnings if "never match" in each]
    assert warning.startswith("gitea git.example: container-registry: ")
    assert "closed" in warning


@pytest.mark.parametrize("name", list(profiles()))
def test_every_profile_can_be_applied(admin, name):
    body = admin.post(f"/app-profiles/{name}/apply", {"domain": "git.example"}).json()

    made = AccessRule.objects.filter(pk__in=[each["id"] for each in body["rules"]])
    assert [(rule.access, len(rule.paths), rule.methods) for rule in made] == [
        (rule.access, len(rule.paths), list(rule.methods)) for rule in profiles()[name].rules
    ]


def test_applying_a_profile_twice_is_refused_with_the_existing_rules(admin):
    first = admin.post(PATH, {"domain": "git.example"}).json()["rules"]
    AccessRule.objects.filter(pk=first[1]["id"]).delete()
    before = revisions.current().revision

    again = admin.post(PATH, {"domain": "git.example"})

    assert (again.status_code, again.json()["code"]) == (409, "profile-applied")
    assert "git.example has 10 rules" in again.json()["detail"]
    assert f"1. {first[0]['name']}, 3. {first[2]['name']}" in again.json()["detail"]
    assert revisions.current().revision == before


def test_a_profile_can_be_applied_to_several_domains(admin):
    AuthorizedDomain.objects.create(name="*.forge.example", created_by="alice")

    answers = [admin.post(PATH, {"domain": name}) for name in ("git.example", "*.forge.example")]

    assert [each.status_code for each in answers] == [200, 200]
    assert answers[1].json()["rules"][0]["name"] == "gitea *.forge.example: git-fetch"


def test_rule_names_have_a_digest_in_place_of_the_end_of_a_long_domain(admin):
    name = f"{'a' * 60}.{'b' * 60}.example"
    AuthorizedDomain.objects.create(name=name, created_by="alice")

    rules = admin.post(PATH, {"domain": name}).json()["rules"]

    assert {len(each["name"]) for each in rules} == {100}
    assert rules[0]["name"].startswith("gitea aaa")
    assert re.search(r"b…[0-9a-f]{8}: git-fetch$", rules[0]["name"])
    assert admin.post(PATH, {"domain": name}).json()["code"] == "profile-applied"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, {"domain"}),
        ({"domain": "other.example"}, {"domain"}),
        ({"domain": None}, {"domain"}),
        ({"domain": "git.example", "position": 1}, {"position"}),
    ],
)
def test_invalid_fields_are_refused(admin, body, fields):
    assert fields_refused(admin.post(PATH, body)) == fields
    assert not AccessRule.objects.exists()


@pytest.mark.parametrize("path", ["/app-profiles/none", "/app-profiles/Gitea", "/app-profiles/..%2floading"])
def test_an_unknown_profile_is_not_found(admin, path):
    assert admin.get(path).status_code == 404
    assert admin.post(f"{path}/apply", {"domain": "git.example"}).status_code == 404


def test_a_profile_above_the_rule_limit_is_refused_as_a_whole(admin, monkeypatch):
    monkeypatch.setattr("policies.access_rules.services.MAX_RULES", 10)

    answer = admin.post(PATH, {"domain": "git.example"})

    assert (answer.status_code, answer.json()["code"]) == (409, "too-many-access-rules")
    assert not AccessRule.objects.exists()


def test_an_applied_profile_can_be_undone(admin, builtin):
    admin.post(EXCLUDING, {"domain": "git.example"})

    latest = revisions.current().revision
    take_back(latest - 1, latest, actor="alice")

    assert not AccessRule.objects.exists()
    assert not excluded()


OWN = {"domain": "git.example", "path_glob": "/api/documents/*", "json_path": "$.content"}


def excluded():
    """Return all exclusions of built-in rules, by the key of the rule."""
    return {rule.builtin_key: rule.exclusions for rule in WafRule.objects.all() if rule.exclusions}


def test_a_profile_brings_the_waf_exclusions_that_it_shows(admin, builtin):
    (shown,) = admin.get("/app-profiles/paperless-ngx").json()["waf_exclusions"]
    admin.post(EXCLUDING, {"domain": "git.example"})

    assert (shown["rules"], shown["exclusion"]) == (KEYS, {name: OWN[name] for name in ("path_glob", "json_path")})
    assert "the text that was read from it" in shown["why"]
    assert shown["source"].startswith("https://")
    assert excluded() == {key: [OWN] for key in KEYS}
    exported = admin.get("/policy/document").content.decode()
    assert "path_glob: /api/documents/*" in exported


def test_long_domains_with_the_same_beginning_have_rules_of_their_own(admin):
    names = [f"{'a' * 60}.{'b' * 40}.{end}.example" for end in ("one", "two")]
    for name in names:
        AuthorizedDomain.objects.create(name=name, created_by="alice")

    applied = [admin.post(PATH, {"domain": name}).status_code for name in names]
    removed = admin.post(PATH.replace("apply", "remove"), {"domain": names[0]})

    assert (applied, removed.status_code) == ([200, 200], 200)
    assert {rule.domains.get().name for rule in AccessRule.objects.all()} == {names[1]}


def test_a_profile_is_removed_with_its_exclusions_in_one_revision_and_nothing_else(admin, builtin):
    AuthorizedDomain.objects.create(name="forge.example", created_by="alice")
    rule = WafRule.objects.get(builtin_key=KEYS[0])
    other = {"domain": "git.example", "argument": "mine"}
    admin.put(f"/waf-rules/{rule.pk}", {"exclusions": [other]})
    admin.post("/access-rules", {"name": "mine", "access": "denied", "paths": [{"match": "exact", "value": "/x"}]})
    for domain in ("git.example", "forge.example"):
        admin.post(EXCLUDING, {"domain": domain})
    before = revisions.current().revision

    answer = admin.post("/app-profiles/paperless-ngx/remove", {"domain": "git.example"})

    assert answer.status_code == 200, answer.content
    assert answer.json()["waf_rules"] == KEYS
    assert len(answer.json()["rules"]) == len(profiles()["paperless-ngx"].rules)
    assert revisions.current().revision == before + 1
    assert excluded() == {
        KEYS[0]: [other, {**OWN, "domain": "forge.example"}],
        KEYS[1]: [{**OWN, "domain": "forge.example"}],
    }
    names = AccessRule.objects.order_by("position").values_list("name", flat=True)
    assert names[0] == "mine"
    assert all(name.startswith("paperless-ngx forge.example: ") for name in names[1:])
    assert list(AccessRule.objects.order_by("position").values_list("position", flat=True)) == [
        *range(1, len(names) + 1)
    ]


def test_a_profile_that_is_not_applied_cannot_be_removed(admin):
    before = revisions.current().revision

    answer = admin.post("/app-profiles/nextcloud/remove", {"domain": "git.example"})

    assert (answer.status_code, answer.json()["code"]) == (409, "profile-not-applied")
    assert admin.post("/app-profiles/none/remove", {"domain": "git.example"}).status_code == 404
    assert fields_refused(admin.post("/app-profiles/paperless-ngx/remove", {"domain": "other.example"})) == {"domain"}
    assert revisions.current().revision == before


def test_an_existing_exclusion_is_not_added_again(admin, builtin):
    rule = WafRule.objects.get(builtin_key=KEYS[0])
    admin.put(f"/waf-rules/{rule.pk}", {"exclusions": [OWN]})

    assert admin.post(EXCLUDING, {"domain": "git.example"}).json()["waf_rules"] == KEYS[1:]
    assert excluded() == {key: [OWN] for key in KEYS}


def test_an_applied_profile_lets_its_clients_in_and_nothing_else(admin, auth):
    def asked(uri, method="GET"):
        answer = auth(x_forwarded_host="git.example", x_forwarded_uri=uri, x_forwarded_method=method)
        return answer.verdict

    assert asked("/alice/notes.git/info/refs?service=git-upload-pack") == (401, "credential-missing")

    admin.post(PATH, {"domain": "git.example"})

    assert asked("/alice/notes.git/info/refs?service=git-upload-pack") == (200, "path-public")
    assert asked("/alice/notes.git/git-upload-pack", "POST") == (200, "path-public")
    assert asked("/alice/notes.git/git-upload-pack") == (401, "credential-missing")
    assert asked("/api/v1/repos/%2e%2e/admin/users") == (401, "credential-missing")
    assert asked("/alice/notes") == (401, "credential-missing")
    other = auth(x_forwarded_host="files.example", x_forwarded_uri="/alice/notes.git/info/refs")
    assert other.verdict == (401, "credential-missing")
