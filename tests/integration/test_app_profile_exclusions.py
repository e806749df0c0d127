"""WAF exclusions of app profiles: exactly those that recorded requests of the app need."""

import random
from dataclasses import replace

import pytest

from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.judge import COMPILED_NOW, builtin_rules, request_of
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import THRESHOLD
from policies.app_profiles import loading
from policies.app_profiles.loading import InvalidProfile, profiles, read_profile
from tests.corpora.applications import APPLICATIONS, PER_APPLICATION
from tests.corpora.applications.content import Content

TITLES = {name: profile.title for name, profile in profiles().items()}
EXCLUDING = sorted(name for name, profile in profiles().items() if profile.waf_exclusions)


def sent_by(app):
    """Return the recorded requests of an application, as tests.corpora.applications writes them."""
    content, shapes = Content(random.Random(TITLES[app])), APPLICATIONS[TITLES[app]]  # noqa: S311 - the same each time
    for number in range(PER_APPLICATION):
        sent = shapes[number % len(shapes)](content)
        headers = {"Host": "cloud.example", "User-Agent": sent.agent, **sent.headers}
        lines = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        yield request_of(sent.method.encode(), sent.uri.encode("latin-1"), lines, sent.body or None)


def rules_with(pairs):
    """Return the built-in rules with these exclusions, of (rule, exclusion)."""
    by_rule = {}
    for key, each in pairs:
        by_rule.setdefault(key, []).append(Exclusion(**each.fields))
    rules = [replace(rule, exclusions=tuple(by_rule.get(rule.name, ()))) for rule in builtin_rules()]
    return RuleSet(rules, COMPILED_NOW)


def refused(rules, requests):
    found = []
    for each in requests:
        scores = {}
        for rule in rules.inspect(each, None):
            scores[rule.category] = scores.get(rule.category, 0) + rule.score
        if max(scores.values(), default=0) >= THRESHOLD:
            found.append(each)
    return found


@pytest.mark.parametrize("app", sorted(TITLES))
def test_no_recorded_request_is_refused_with_the_profile_and_each_exclusion_is_needed(app):
    pairs = [(key, each) for each in profiles()[app].waf_exclusions for key in each.rules]
    failing = refused(rules_with([]), sent_by(app))

    assert bool(failing) is bool(pairs)
    assert refused(rules_with(pairs), failing) == []
    for pair in pairs:
        assert refused(rules_with([each for each in pairs if each != pair]), failing), pair


def test_apps_whose_requests_are_let_through_have_no_exclusions():
    assert EXCLUDING == ["audiobookshelf", "paperless-ngx"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ('rules = ["sqli-nothing"]', "keys of built-in rules"),
        ("rules = []", "keys of built-in rules"),
        ('json_path = "content"', "a JSON path begins with"),
        ('path_glob = ""', "a path is expected"),
        ('domain = "a.example"', "unknown key 'domain'"),
        ('expires_at = "2030-01-31T12:00:00Z"', "unknown key 'expires_at'"),
        ('why = ""', "why: text is expected"),
        ('source = "http://a.example"', "is no https URL"),
    ],
)
def test_a_wrong_exclusion_of_a_profile_is_refused_with_its_place(tmp_path, change, why):
    name = change.partition(" = ")[0]
    text = (loading.FOLDER / "paperless-ngx.toml").read_text(encoding="utf-8")
    head, _, exclusion = text.partition("[[waf_exclusions]]")
    lines = [line for line in exclusion.strip().splitlines() if not line.startswith(f"{name} =")]
    file = tmp_path / "paperless-ngx.toml"
    file.write_text("\n".join([head, "[[waf_exclusions]]", *lines, change]), encoding="utf-8")

    with pytest.raises(InvalidProfile, match=r"paperless-ngx.toml: waf_exclusions\[0\]") as error:
        read_profile(file)

    assert why in str(error.value)
