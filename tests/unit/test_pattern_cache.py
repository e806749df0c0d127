"""Compiled patterns on disk: compiled once per host, signed by us, and without blocking other work."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from gatewall.engine.waf.judge import builtin_rules
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.vector import AVAILABLE, DatabaseRefused, VectorScanner
from gatewall.snapshot import pattern_cache, pattern_process
from gatewall.snapshot.pattern_cache import NO_ENGINE, NOT_COMPILED, PatternCache, name_of
from gatewall.snapshot.published import PublishedPolicies
from tests.support.cast import a_request, a_rule
from tests.support.processes import wait_until
from tests.unit.publications import publish, some_files

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="hyperscan is not available on this machine")
PATTERNS = (rb"(?i)union\s+all", b"etc/passwd")
NAME = name_of(PATTERNS)


@pytest.fixture
def cache(tmp_path):
    return PatternCache(tmp_path / "patterns", b"key")


@pytest.fixture
def compiled(monkeypatch):
    """Return the list of compilations, done in this process: a child process would take a second for each."""
    counted = []

    def compile_here(patterns):
        counted.append(patterns)
        return VectorScanner.compiled(patterns).dumped()

    monkeypatch.setattr(pattern_cache, "_compiled", compile_here)
    return counted


def wanted(cache, patterns=PATTERNS):
    """Wait for the scanner of the cache, and return it."""
    given, event = [], threading.Event()
    cache.want(patterns, lambda scanner: (given.append(scanner), event.set()))
    assert event.wait(60)
    return given[0]


def file_of(cache) -> Path:
    return cache._folder / NAME


def test_a_child_process_compiles_a_working_scanner(cache):
    assert sorted(number for number, _ in wanted(cache).scan(b"x\nunion  all etc/passwd")) == [0, 1]
    assert file_of(cache).stat().st_mode & 0o777 == 0o600


def test_patterns_on_disk_are_not_compiled_again(cache, compiled):
    wanted(cache)
    wanted(PatternCache(cache._folder, b"key"))

    assert len(compiled) == 1


def test_leftover_files_of_a_killed_process_are_removed_before_compiling(cache, compiled):
    cache._folder.mkdir()
    (cache._folder / f".{NAME}.1").write_bytes(b"half")
    wanted(cache)

    assert list(cache._folder.glob(f".{NAME}.*")) == []


def test_a_scanner_in_memory_is_given_at_once(cache, compiled):
    scanner = wanted(cache)
    given = []
    cache.want(PATTERNS, given.append)

    assert given == [scanner]


def test_a_scanner_in_use_stays_in_memory(cache, compiled):
    scanner = wanted(cache)

    for number in range(6):
        wanted(cache, (b"pattern %d" % number,))
        assert wanted(cache) is scanner


def test_two_requests_for_the_same_patterns_share_a_scanner(cache, compiled):
    assert cache.scanner(NAME, PATTERNS) is cache.scanner(NAME, PATTERNS)


@pytest.mark.parametrize("key", [b"key", b"another"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:0],
        lambda data: data[:40],
        lambda data: data[:-1],
        lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
        lambda data: b"x" * len(data),
    ],
)
def test_damaged_or_foreign_file_is_refused_and_compiled_again(cache, compiled, spoil, key):
    wanted(cache)
    file_of(cache).write_bytes(spoil(file_of(cache).read_bytes()))

    assert wanted(PatternCache(cache._folder, key)).scan(b"etc/passwd")
    assert len(compiled) == 2


def test_signed_database_that_finds_nothing_is_refused(cache, compiled):
    wanted(cache)
    data = VectorScanner.compiled([b"nothing", b"of it"]).dumped()
    file_of(cache).write_bytes(cache._signature(NAME, data) + data)

    assert wanted(PatternCache(cache._folder, b"key")).scan(b"etc/passwd")
    assert len(compiled) == 2


@pytest.mark.parametrize("position", [9, 13, 21, 41], ids=["magic", "version", "processor", "contents"])
def test_signed_database_of_another_engine_or_processor_is_refused(cache, compiled, position):
    wanted(cache)
    data = bytearray(VectorScanner.compiled(PATTERNS).dumped())
    data[position] ^= 0xFF
    file_of(cache).write_bytes(cache._signature(NAME, bytes(data)) + data)

    assert wanted(PatternCache(cache._folder, b"key")).scan(b"etc/passwd")
    assert len(compiled) == 2


def test_signed_database_that_finds_too_much_is_refused(cache, compiled):
    wanted(cache)
    data = VectorScanner.compiled([PATTERNS[0] + b"|index", PATTERNS[1]]).dumped()
    file_of(cache).write_bytes(cache._signature(NAME, data) + data)

    assert not wanted(PatternCache(cache._folder, b"key")).scan(b"/index.html")
    assert len(compiled) == 2


def test_file_of_other_patterns_under_this_name_is_refused(cache, compiled):
    other = (b"other",)
    wanted(cache, other)
    (cache._folder / name_of(other)).rename(file_of(cache))

    assert wanted(PatternCache(cache._folder, b"key")).scan(b"etc/passwd")


def test_pattern_that_the_engine_does_not_take_is_left_out_on_disk_too(cache):
    patterns = (b"a$b", *PATTERNS)

    assert wanted(cache, patterns).left_out == {0}
    again = wanted(PatternCache(cache._folder, b"key"), patterns)
    assert again.left_out == {0}
    assert again.scan(b"etc/passwd")


def test_patterns_that_cannot_be_compiled_leave_re2_in_their_place_and_are_logged_once(cache, caplog, monkeypatch):
    def fail(patterns):
        raise DatabaseRefused("exit code -9")

    monkeypatch.setattr(pattern_cache, "_compiled", fail)
    for patterns in (PATTERNS, PATTERNS, PATTERNS[:1]):
        cache.want(patterns, lambda _: pytest.fail("there is none"))
        for thread in threading.enumerate():
            if thread.name == "patterns":
                thread.join(60)

    assert caplog.text.count(NOT_COMPILED) == 1
    assert cache.trouble == NOT_COMPILED


def test_child_process_that_fails_is_a_refusal(monkeypatch):
    monkeypatch.setattr(pattern_cache.sys, "executable", "/bin/false")

    with pytest.raises(DatabaseRefused, match="exit code 1"):
        pattern_cache._compiled(PATTERNS)


def test_child_process_may_wait_for_a_busy_host_much_longer_than_it_computes(monkeypatch):
    # It has the lowest priority: beside nine busy processes on two cores, 10 s of CPU took more than 240 s.
    asked = {}

    def run(command, **options):
        asked.update(options)
        return subprocess.CompletedProcess(command, 0, b"compiled", b"")

    monkeypatch.setattr(pattern_cache.subprocess, "run", run)

    assert pattern_cache._compiled(PATTERNS) == b"compiled"
    assert asked["timeout"] >= 30 * pattern_process.CPU_SECONDS


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux ends the child")
def test_child_process_ends_with_its_parent():
    kept_open, never_written = os.pipe()  # so that the child waits for patterns
    start = f"import subprocess, sys; subprocess.run([sys.executable, '-m', {pattern_process.__name__!r}])"
    with subprocess.Popen([sys.executable, "-c", start], stdin=kept_open) as parent:
        started, limit = psutil.Process(parent.pid), (pattern_process.CPU_SECONDS,) * 2
        wait_until(lambda: any(child.rlimit(psutil.RLIMIT_CPU) == limit for child in started.children()))
        (child,) = started.children()
        parent.kill()
    psutil.wait_procs([child], timeout=60)
    os.close(kept_open)
    os.close(never_written)

    assert not child.is_running()


def test_a_missing_engine_is_logged(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(pattern_cache, "AVAILABLE", False)
    cache = PatternCache(tmp_path, b"key")
    cache.want(PATTERNS, lambda _: pytest.fail("there is none"))

    assert NO_ENGINE in caplog.text
    assert cache.trouble == NO_ENGINE


def test_only_the_newest_files_are_kept(cache, compiled):
    for number in range(pattern_cache._KEPT_FILES + 4):
        wanted(cache, (b"a%d" % number,))
        os.utime(cache._folder / name_of((b"a%d" % number,)), (number, number))

    assert len([path for path in cache._folder.iterdir() if not path.name.startswith(".")]) == pattern_cache._KEPT_FILES
    assert len(cache._known) == pattern_cache._KEPT_IN_MEMORY


def test_rules_are_matched_before_and_after_their_scanner_is_there():
    later = []

    class Later:
        trouble = ""

        def want(self, patterns, ready):
            later.append((patterns, ready))

    request = a_request(uri="/?a=attack7")
    custom = RuleSet([a_rule(f"attack{number}", id=number) for number in range(20)], Later())
    assert [rule.id for rule in custom.inspect(request, None)] == [7]
    patterns, ready = later.pop()
    ready(VectorScanner.compiled(patterns))
    assert [rule.id for rule in custom.inspect(request, None)] == [7]


def test_a_rule_set_names_the_engine_of_the_built_in_rules():
    assert RuleSet(builtin_rules()).engine == "re2"
    assert RuleSet([]).engine == ""


def test_published_policy_takes_its_scanner_when_there_is_one(tmp_path):
    files = some_files(tmp_path)
    publish(files, 1, rules=[a_rule(f"attack{number}", id=number) for number in range(20)])
    policies = PublishedPolicies(files)
    policies.refresh()
    matcher = policies.current().waf._custom

    assert policies.current().waf.inspect(a_request(uri="/attack3"), None)
    for thread in threading.enumerate():
        if thread.name == "patterns":
            thread.join(60)
    assert matcher.scanner.name == "hyperscan"
    assert [rule.id for rule in policies.current().waf.inspect(a_request(uri="/attack3"), None)] == [3]
