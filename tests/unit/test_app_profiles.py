"""App profiles: each file says what it opens and why, lets the app's clients through, and nothing beside them."""

import pytest

from gatewall.engine.access_rules import paths
from gatewall.engine.hosts import Access
from gatewall.engine.paths import readings_of
from policies.app_profiles import loading
from policies.app_profiles.loading import InvalidProfile, profiles, read_profile
from tests.support import app_requests

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


def met_by(profile, method, uri):
    """Return the rule that each reading of the path meets, None where it meets none."""
    rules = [(rule, [paths.compiled(path) for path in rule.paths]) for rule in profile.rules if method in rule.methods]
    readings = {paths.trimmed(reading) for reading in readings_of(uri.partition("?")[0])}
    return {
        next((rule for rule, patterns in rules if any(matches(reading) for matches in patterns)), None)
        for reading in readings
    }


def test_there_is_a_profile_for_each_app_sorted_by_name():
    assert list(profiles()) == APPS == app_requests.apps()


@pytest.mark.parametrize("app", APPS)
def test_each_rule_says_what_it_opens_and_why_that_is_safe(app):
    profile = profiles()[app]

    assert profile.title
    assert profile.sources
    assert profile.not_opened
    for rule in profile.rules:
        assert rule.opens.endswith(".")
        assert rule.safe_because.endswith(".")
        assert rule.access in {Access.PUBLIC, Access.AUTHENTICATED}
        assert all(path.value.strip("/*") for path in rule.paths), "a rule for everything"


@pytest.mark.parametrize("app", APPS)
def test_the_clients_of_an_app_get_through(app):
    sent = app_requests.requests_of(app)

    assert len(sent) >= 12
    for request in sent:
        assert request.source.startswith("https://")
        (rule,) = met_by(profiles()[app], request.method, request.uri)
        assert rule is not None, request
        assert (rule.name, rule.access) == (request.rule, Access.PUBLIC), request


@pytest.mark.parametrize("app", APPS)
def test_every_open_rule_is_one_that_a_client_needs(app):
    opened = {rule.name for rule in profiles()[app].rules if rule.access is Access.PUBLIC}

    assert opened == {request.rule for request in app_requests.requests_of(app)}


@pytest.mark.parametrize("app", APPS)
def test_nothing_beside_the_paths_of_the_clients_is_open(app):
    attacks = app_requests.attacks_on(app)

    assert len(attacks) >= 12
    assert {attack.kind for attack in attacks} == app_requests.ATTACKS.keys()
    for attack in attacks:
        met = met_by(profiles()[app], attack.method, attack.uri)
        assert any(rule is None or rule.access is not Access.PUBLIC for rule in met), attack


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
