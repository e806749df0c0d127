"""The WAF engine in the health checks, and how an engine that misses attacks is handled."""

import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from gatewall.engine.waf import builtin_matcher, canaries
from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.matcher import DISTRUSTED, WAITING, RuleSet
from gatewall.engine.waf.patterns import PatternRefused
from gatewall.engine.waf.scanning import OneByOne
from gatewall.engine.waf.some_patterns import FILE_PATTERNS, PATTERNS, TEXT_PATTERNS
from gatewall.engine.waf.vector import AVAILABLE, CompiledNow, VectorScanner
from gatewall.gate.waf_state import waf_checks
from gatewall.snapshot import pattern_cache
from gatewall.snapshot.pattern_cache import NO_ENGINE, NOT_COMPILED, PatternCache
from gatewall.snapshot.published import PublishedPolicies
from tests.support.cast import a_request, a_rule
from tests.unit.publications import publish, some_files

BASE = Path(__file__).resolve().parents[2]
ATTACK = a_request(uri="/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--")
SOME = [a_rule(f"attack{number}", id=number) for number in range(20)]
needs_hyperscan = pytest.mark.skipif(not AVAILABLE, reason="hyperscan is not available on this machine")


class Later:
    """A cache that gives scanners on demand."""

    trouble = ""

    def __init__(self):
        self.wanted = []

    def want(self, patterns, ready):
        self.wanted.append(ready)


class Blind:
    """An engine that finds no pattern, or every pattern, in any text."""

    name = "hyperscan"
    left_out = frozenset()

    def __init__(self, hits=()):
        self.hits = list(hits)

    def scan(self, text):
        return self.hits


def policy_of(rules):
    return SimpleNamespace(waf=rules)


def state(rules, scanners=None):
    return waf_checks(policy_of(RuleSet(rules, scanners)))


def test_without_a_policy_there_is_no_state_and_without_rules_no_engine():
    assert waf_checks(None) == {}
    assert state([]) == {"waf": "ok", "waf_engine": "none"}


@needs_hyperscan
@pytest.mark.parametrize("rules", [builtin_rules(), SOME], ids=["built-in", "custom"])
def test_engine_with_its_patterns_is_ok(rules):
    assert state(rules, CompiledNow()) == {"waf": "ok", "waf_engine": "hyperscan"}


@pytest.mark.parametrize("rules", [builtin_rules(), SOME], ids=["built-in", "custom"])
def test_re2_is_used_until_the_patterns_are_compiled(rules):
    assert state(rules, Later()) == {"waf": WAITING, "waf_engine": "re2"}


@needs_hyperscan
def test_rules_that_are_scanned_apart_are_named():
    apart = [a_rule("a$b", id=100 + number, name=f"odd {number}") for number in range(22)]

    assert state([*SOME, apart[0]], CompiledNow()) == {
        "waf": "ok",
        "waf_engine": "hyperscan",
        "waf_apart": "100 (odd 0)",
    }
    assert state([*SOME, *apart], CompiledNow())["waf_apart"].endswith(", 119 (odd 19) and 2 more")


def test_a_few_rules_need_no_scan():
    assert state(SOME[:7], Later()) == {"waf": "ok", "waf_engine": "re2"}


@pytest.mark.parametrize("blind", [Blind(), Blind([(0, 1)])], ids=["finds nothing", "finds everything"])
def test_engine_that_fails_its_canaries_is_not_used(blind, caplog):
    later = Later()
    rules = RuleSet(builtin_rules(), later)
    later.wanted[0](blind)

    assert waf_checks(policy_of(rules)) == {"waf": DISTRUSTED, "waf_engine": "re2"}
    assert DISTRUSTED in caplog.text
    assert rules.inspect(ATTACK, None)


def test_engine_that_fails_later_is_no_longer_trusted():
    later = Later()
    rules = RuleSet(builtin_rules(), later)
    scanner = OneByOne(PATTERNS)
    sound = Blind()
    sound.scan = scanner.scan
    later.wanted[0](sound)
    later.wanted[1](texts := Blind())
    assert waf_checks(policy_of(rules)) == {"waf": DISTRUSTED, "waf_engine": "hyperscan"}
    texts.scan = OneByOne(TEXT_PATTERNS).scan
    rules = RuleSet(builtin_rules(), later := Later())
    later.wanted[0](sound)
    later.wanted[1](texts)
    assert waf_checks(policy_of(rules))["waf"] == WAITING
    files = Blind()
    files.scan = OneByOne(FILE_PATTERNS).scan
    later.wanted[2](files)
    assert waf_checks(policy_of(rules)) == {"waf": "ok", "waf_engine": "hyperscan"}

    texts.scan = Blind().scan
    assert waf_checks(policy_of(rules)) == {"waf": DISTRUSTED, "waf_engine": "hyperscan"}
    sound.scan = Blind().scan
    assert not rules.inspect(ATTACK, None)
    assert waf_checks(policy_of(rules)) == {"waf": DISTRUSTED, "waf_engine": "re2"}
    assert rules.inspect(ATTACK, None)
    assert waf_checks(policy_of(rules))["waf"] == DISTRUSTED


def test_policy_is_refused_if_re2_fails_its_canaries_and_the_last_one_stays(tmp_path, monkeypatch, caplog):
    files = some_files(tmp_path)
    monkeypatch.setattr(pattern_cache, "AVAILABLE", False)
    publish(files, 1, rules=list(builtin_rules()))
    policies = PublishedPolicies(files)
    policies.refresh()
    monkeypatch.setattr(builtin_matcher, "OneByOne", lambda _patterns: Blind())

    with pytest.raises(PatternRefused):
        RuleSet(builtin_rules())
    publish(files, 2, rules=list(builtin_rules()[:-1]))
    policies.refresh()

    assert policies.current().version.revision == 1
    assert policies.current().waf.inspect(ATTACK, None)
    assert "policy.rejected" in caplog.text


@pytest.mark.parametrize("available", [False, pytest.param(True, marks=needs_hyperscan)])
def test_health_shows_why_there_is_no_scanner(tmp_path, monkeypatch, available):
    def fail(patterns):
        raise subprocess.TimeoutExpired("compile", 1)

    monkeypatch.setattr(pattern_cache, "AVAILABLE", available)
    monkeypatch.setattr(pattern_cache, "_compiled", fail)
    cache = PatternCache(tmp_path / "patterns", b"key")
    rules = RuleSet(SOME, cache)
    for thread in threading.enumerate():
        if thread.name == "patterns":
            thread.join(60)

    assert waf_checks(policy_of(rules)) == {"waf": NOT_COMPILED if available else NO_ENGINE, "waf_engine": "re2"}
    if available:
        monkeypatch.setattr(pattern_cache, "_compiled", lambda patterns: VectorScanner.compiled(patterns).dumped())
        rules = RuleSet(SOME, cache)
        for thread in threading.enumerate():
            if thread.name == "patterns":
                thread.join(60)
        assert (cache.trouble, waf_checks(policy_of(rules))["waf"]) == ("", "ok")


def test_only_sound_patterns_pass_the_canaries():
    assert canaries.passes_canaries(OneByOne(PATTERNS))
    for number in range(len(canaries.ATTACKS)):
        without = [text for text in canaries.ATTACKS if text != canaries.ATTACKS[number]]
        assert not canaries.passes_canaries(OneByOne([b"^" + _quoted(text) + b"$" for text in without]))
    assert not canaries.passes_canaries(OneByOne([*PATTERNS, b"index"]))
    assert not canaries.misread(OneByOne([b"x"]), [b"x"])
    assert canaries.misread(OneByOne([b"x|^$"]), [b"x"])
    assert canaries.misread(OneByOne([b"etc/passwd|index"]), [b"etc/passwd"])
    assert canaries.misread(OneByOne([b"nothing"]), [b"etc/passwd"])


def _quoted(text):
    return b"".join([b"\\x%02x" % each for each in text])


def test_without_a_wheel_the_waf_runs_on_re2_and_logs_it(tmp_path):
    """In a process of its own, in which hyperscan cannot be imported."""
    code = f"""
        import logging, sys
        from pathlib import Path
        sys.modules["hyperscan"] = None
        logging.basicConfig(level="WARNING", format="%(levelname)s %(message)s")
        from gatewall.engine.waf.judge import Judge, builtin_rules
        from gatewall.engine.waf.vector import AVAILABLE
        from gatewall.engine.waf.matcher import RuleSet
        from gatewall.snapshot.pattern_cache import PatternCache
        rules = RuleSet(builtin_rules(), PatternCache(Path({str(tmp_path)!r}), b"key"))
        attack, harmless = b"/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--", b"/?id=1"
        print(AVAILABLE, rules.engine, rules.check(), sep="; ")
        print(Judge()(b"GET", attack, ()), Judge()(b"GET", harmless, ()))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=BASE, capture_output=True, text=True, timeout=120, check=True
    )

    assert run.stdout.splitlines() == [f"False; re2; {NO_ENGINE}", "True False"]
    assert run.stderr.splitlines() == [f"WARNING WAF: {NO_ENGINE}"]
