"""App profiles: each file documents what it opens and why, and lets only the app's clients through."""

from dataclasses import replace
from functools import cache

import pytest

from gatewall.engine.access_rules import paths
from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.evaluate import evaluate
from gatewall.engine.model import Effect, Reason
from gatewall.engine.waf.judge import builtin_rules
from policies.app_profiles import loading
from policies.app_profiles.loading import InvalidProfile, profiles, read_profile
from tests.support import app_requests
from tests.support.cast import OFFICE, a_policy, a_ports, a_request
from tests.unit.rule_facts import SHOWN

REFUSED = {(Effect.CHALLENGE, Reason.CREDENTIAL_MISSING), (Effect.DENY, Reason.WAF_RULE)}
DETOURS = ("/..", "/%2e%2E", "/%252e%252e", "/..;x=1", "/%2e%2e%3b", "%2f..", "%252F..", "\\..", "%5c..", "/./..")
APPS = [
    *("audiobookshelf", "gitea", "grafana", "home-assistant", "immich"),
    *("jellyfin", "miniflux", "nextcloud", "paperless-ngx", "vaultwarden"),
]
PROFILE = """\
name = "app"
title = "App"
sources = ["https://example.org/docs"]

[[rules]]
name = "api"
paths = [{ match = "prefix", value = "/api" }]
methods = ["GET"]
access = "public"
opens = "The app."
safe_because = "It asks for a token."

[[not_opened]]
what = "/admin"
reason = "Browsers sign in first."
"""


@cache
def policy_of(app, *, waf=True):
    """Return a policy with the rules of a profile, on a domain that requires a sign-in."""
    rules = [
        AccessRule(number, each.name, each.access, frozenset({OFFICE}), each.paths, frozenset(each.methods))
        for number, each in enumerate(profiles()[app].rules)
    ]
    return a_policy(domains={OFFICE: "authenticated"}, access_rules=rules, rules=builtin_rules() if waf else ())


def decided(sent, policy, headers=()):
    """Return the decision on an anonymous request; the destination of a COPY or MOVE is in the same folder."""
    if sent.method in {"COPY", "MOVE"}:
        headers = (*headers, ("destination", f"https://{OFFICE}{sent.uri}-2"))
    asked = a_request(method=sent.method, uri=sent.uri, headers=headers, visible=SHOWN)
    return evaluate(asked, policy, a_ports())


def test_each_app_has_a_profile_sorted_by_name():
    assert list(profiles()) == APPS == app_requests.apps()


@pytest.mark.parametrize("app", APPS)
def test_each_rule_explains_what_it_opens_and_why_that_is_safe(app):
    profile = profiles()[app]

    assert profile.title
    assert profile.sources
    assert profile.not_opened
    for rule in profile.rules:
        assert rule.opens.endswith(".")
        assert rule.safe_because.endswith(".")
        assert all(path.value.strip("/*") for path in rule.paths), "a rule for everything"


@pytest.mark.parametrize("app", APPS)
def test_the_clients_of_an_app_get_through(app):
    sent = app_requests.requests_of(app)

    assert len(sent) >= 12
    for request in sent:
        assert request.source.startswith("https://")
        decision = decided(request, policy_of(app), [(name.lower(), value) for name, value in request.headers])
        assert (decision.effect, decision.reason) == (Effect.ALLOW, Reason.PATH_PUBLIC), request
        assert profiles()[app].rules[decision.verdict.decided_by.id].name == request.rule, request


@pytest.mark.parametrize("app", APPS)
def test_every_open_path_and_method_is_one_that_a_client_needs(app):
    for rule in profiles()[app].rules:
        sent = [request for request in app_requests.requests_of(app) if request.rule == rule.name]
        asked = {paths.trimmed(request.uri.partition("?")[0]) for request in sent}
        methods = {request.method for request in sent}
        if "GET" in methods:
            methods.add("HEAD")

        assert [path for path in rule.paths if not any(map(paths.compiled(path), asked))] == []
        assert set(rule.methods) <= methods, rule.name


@pytest.mark.parametrize("app", APPS)
def test_nothing_beside_the_paths_of_the_clients_is_open(app):
    attacks = app_requests.attacks_on(app)

    assert len(attacks) >= 12
    assert {attack.kind for attack in attacks} == app_requests.ATTACKS.keys()
    for attack in attacks:
        decision = decided(attack, policy_of(app))
        assert (decision.effect, decision.reason) in REFUSED, attack
        assert decided(attack, policy_of(app, waf=False)).reason is Reason.CREDENTIAL_MISSING, attack


@pytest.mark.parametrize("app", APPS)
def test_no_detour_over_an_open_path_reaches_a_closed_one(app):
    closed = [attack for attack in app_requests.attacks_on(app) if attack.kind in {"neighbor", "interface"}]
    tried = 0
    for attack in closed:
        for opened in [each for each in app_requests.requests_of(app) if each.method == attack.method][::4]:
            path = opened.uri.partition("?")[0].rstrip("/")
            for up in DETOURS:
                detour = replace(attack, uri=path + up * path.count("/") + attack.uri)
                assert decided(detour, policy_of(app, waf=False)).reason is Reason.CREDENTIAL_MISSING, detour
                tried += 1

    assert tried > 100


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        ("[[rules]]", "[[rule]]", "app.toml: unknown key 'rule'"),
        ('title = "App"\n', "", "app.toml: 'title' is missing"),
        ('title = "App"', 'title = " "', "app.toml: title: text is expected"),
        ('name = "app"', 'name = "other"', "app.toml: name: expected 'app'"),
        ('["https://example.org/docs"]', "[]", "app.toml: sources: at least one URL"),
        ("https://", "http://", "app.toml: sources: 'http://example.org/docs' is no https URL"),
        ('opens = "The app."\n', "", r"app.toml: rules\[0\]: 'opens' is missing"),
        ('safe_because = "It asks for a token."\n', "", r"app.toml: rules\[0\]: 'safe_because' is missing"),
        ("[[not_opened]]", "[[rules]]", r"app.toml: 'not_opened' is missing"),
        ('"api"', '"The API"', r"app.toml: rules\[0\]: name: 'The API'"),
        ('"public"', '"open"', r"app.toml: rules\[0\]: access: 'open' is unknown"),
        ('"public"', '"authenticated"', r"app.toml: rules\[0\]: access: authenticated could ask for less"),
        ('["GET"]', "[]", r"app.toml: rules\[0\]: methods: at least one"),
        ('["GET"]', '["get"]', r"app.toml: rules\[0\]: methods: .*GET"),
        ('"/api"', '"/api/../x"', r"app.toml: rules\[0\]: paths: .*'/x'"),
        ('"/api"', '"/api/*"', r"app.toml: rules\[0\]: paths: "),
        ('"prefix"', '"regex"', r"app.toml: rules\[0\]: paths: "),
        ('[{ match = "prefix", value = "/api" }]', "[]", r"app.toml: rules\[0\]: paths: at least one"),
        ('reason = "Browsers sign in first."', "reason = 3", r"app.toml: not_opened\[0\]: reason: text"),
        ("[[rules]]", "rules = 3\n[other]", "app.toml: unknown key 'other'"),
        ("title", "title =", "app.toml: "),
    ],
)
def test_an_invalid_profile_is_refused_with_its_place(tmp_path, was, becomes, message):
    assert was in PROFILE
    path = tmp_path / "app.toml"
    path.write_text(PROFILE.replace(was, becomes, 1))

    with pytest.raises(InvalidProfile, match=message):
        read_profile(path)


def test_two_rules_of_one_name_are_refused(tmp_path):
    path = tmp_path / "app.toml"
    rule = PROFILE.partition("[[rules]]")[2].partition("[[not_opened]]")[0]
    path.write_text(PROFILE + "[[rules]]" + rule)

    with pytest.raises(InvalidProfile, match="two rules have the same name"):
        read_profile(path)


def test_the_files_are_read_once(monkeypatch, tmp_path):
    first = profiles()
    monkeypatch.setattr(loading, "FOLDER", tmp_path)

    assert profiles() is first
