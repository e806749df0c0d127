"""The benchmarks: their tables, and (``--full``) each command from end to end with a minimal load."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from audit.counting.counts import latency_class
from bench import (
    backtest,
    console_pages,
    everything,
    import_list,
    latency,
    lists,
    log_pages,
    report,
    scale,
    shipping,
    traffic,
    wanted,
)
from bench.shipping import Round

BASE = Path(__file__).resolve().parents[2]
TOKENS = ("first", "second")


def test_a_ratio_is_taken_within_its_round_and_bytes_are_per_record():
    rounds = [
        Round({"answering": 100, "SQLite": 300}, {"answering": 9000, "SQLite": 100}, 640.0),
        Round({"answering": 50, "SQLite": 250}, {"answering": 9500, "SQLite": 90}, 650.0),
        Round({"answering": 200, "SQLite": 400}, {"answering": 9900, "SQLite": 80}, 660.0),
    ]

    result = shipping.summary(rounds, 200, {"SQLite": {"rows": 1_000_000, "indexes": 500_000, "counts": 100_000}})

    answering, sqlite = result["rows"]
    assert "ratio" not in answering
    assert sqlite["ratio"] == {"median": 3.0, "least": 2.0, "most": 5.0}
    assert sqlite["bytes"] == {"rows": 1000, "indexes": 500, "counts": 100}
    assert "| shipping to SQLite | 300 (250 to 400) | 90 | 3.0 (2.0 to 5.0) | 1000, 500, 100 |" in shipping.as_text(
        result
    )


def test_requests_can_be_repeated_and_are_of_many_kinds():
    made = traffic.requests(TOKENS, 400, seed=1)

    assert made == traffic.requests(TOKENS, 400, seed=1)
    assert made != traffic.requests(TOKENS, 400, seed=2)
    heads = Counter(b"service.token=" in request for request in made)
    assert heads[True] > heads[False] > 20
    assert len({line for request in made for line in request.splitlines() if line.startswith(b"X-Bench")}) > 100


def test_a_table_replaces_the_one_between_its_marks_alone(tmp_path):
    page = tmp_path / "docs" / "performance.md"
    page.parent.mkdir()
    (tmp_path / "bench").mkdir()
    page.write_text("before\n<!-- bench.x -->\nold\n<!-- /bench.x -->\nafter\n")

    report.write("x", {"figure": 1}, "new", tmp_path)

    assert page.read_text() == "before\n<!-- bench.x -->\nnew\n<!-- /bench.x -->\nafter\n"
    assert json.loads((tmp_path / "bench" / "results" / "x.json").read_text()) == {"figure": 1}
    with pytest.raises(SystemExit):
        report.write("y", {}, "new", tmp_path)


def cores(times):
    used = {"all ran": 1.0, "all waited": 0.5, "data plane ran": 0.25, "data plane waited": 0.125}
    return {words: each * times for words, each in used.items()}


def test_a_ratio_of_latencies_is_taken_within_its_round():
    rounds = [
        {
            "rate": 300,
            "nginx asks nginx": {"p50": 1, "p99": 2},
            "nginx asks data plane": {"p50": 2, "p99": 3, **cores(1)},
        },
        {
            "rate": 500,
            "nginx asks nginx": {"p50": 2, "p99": 8},
            "nginx asks data plane": {"p50": 2, "p99": 20, **cores(2)},
        },
    ]

    result = latency.summary(rounds, 8.0, 2)

    assert [row["ratio"] for row in result["rows"]] == [
        {"median": 1.5, "least": 1.0, "most": 2.0},
        {"median": 2.0, "least": 1.5, "most": 2.5},
    ]
    assert "kept 1.50 (1.00 to 2.00) cores busy and were ready to run on 0.75 (0.50 to 1.00) more" in latency.as_text(
        result
    )
    assert "the data plane kept 0.38 (0.25 to 0.50) busy and was ready for 0.19 (0.12 to 0.25) more" in latency.as_text(
        result
    )
    (_, p99) = wanted.rows("latency", result)
    assert (p99.figure, p99.wanted, p99.reached, p99.spread) == ("2.00 x", "<= 2.0", True, "1.50 to 2.50")


def test_the_statements_of_a_long_list_are_compared_with_those_of_a_short_one():
    answers = {
        "little": {"ms": 2.0, "statements": 4, "rows": 10},
        "much": {"ms": 5.0, "statements": 4, "rows": 10},
    }
    more = {**answers, "much": {"ms": 8.0, "statements": 5, "rows": 10}}
    rounds = [[answers] * len(lists.QUESTIONS), [answers] * (len(lists.QUESTIONS) - 1) + [more]]

    result = lists.summary(rounds, 1_000_000, 100)
    *pages, statements = wanted.rows("lists", result)

    assert [row.reached for row in pages] == [True] * (len(lists.QUESTIONS) - 1) + [False]
    assert (pages[-1].figure, pages[-1].spread) == ("3.25 x", "2.50 to 4.00")
    assert (statements.figure, statements.reached) == ("5", False)
    assert "| 2.0 | 6.5 (5.0 to 8.0) | 3.25 (2.50 to 4.00) | 4, 5 |" in lists.as_text(result)


def test_a_missed_target_is_marked_and_a_value_without_a_target_is_not():
    spread = {"median": 0.24, "least": 0.2, "most": 0.3}
    servers = [
        {"name": "nginx return 200", "cpu_us": spread},
        {"name": "bare application", "limit": "nginx return 200", "ratio": spread},
        {"name": "data plane", "limit": "nginx return 200", "ratio": spread},
    ]

    found = wanted.rows("auth", {"servers": servers})

    assert [row.reached for row in found] == [None, False]
    assert "| CPU: data plane, to nginx return 200 | 0.24 x | >= 0.25 | **no** | 0.20 to 0.30 |" in wanted.as_text(
        found
    )


def test_a_bench_without_its_prerequisite_is_skipped_and_the_others_run(monkeypatch, capsys):
    monkeypatch.setattr(everything, "_IS_THERE", {**everything._IS_THERE, "nginx": (lambda: False, "install it")})
    monkeypatch.setattr(everything, "BENCHES", {name: everything.BENCHES[name] for name in ("auth", "lists")})
    monkeypatch.setattr(everything, "_measured", lambda bench, *_: [everything.Row(bench.name, "1", "1", True, "-")])
    monkeypatch.setattr(sys, "argv", ["bench/all"])

    with pytest.raises(SystemExit) as ended:
        everything.main()

    said = capsys.readouterr().out
    assert ended.value.code == 1
    assert "== auth is left out; missing: nginx (install it)" in said
    assert "| auth | not measured | - | - | missing: nginx (install it) |\n| lists | 1 | 1 | yes | - |" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [([], {"auth"}), (["--long"], {"auth", "backtest"}), (["backtest"], {"backtest"})],
    ids=["none", "--long", "by name"],
)
def test_long_benches_run_when_they_are_asked_for(monkeypatch, capsys, arguments, expected):
    monkeypatch.setattr(everything, "BENCHES", {name: everything.BENCHES[name] for name in ("auth", "backtest")})
    monkeypatch.setattr(everything, "_lacking", lambda _: [])
    monkeypatch.setattr(everything, "_measured", lambda bench, *_: [everything.Row(bench.name, "1", "1", True, "-")])
    monkeypatch.setattr(sys, "argv", ["bench/all", *arguments])

    with pytest.raises(SystemExit):
        everything.main()

    said = capsys.readouterr().out
    assert {name for name in ("auth", "backtest") if f"| {name} | 1 |" in said} == expected


def test_a_bench_that_fails_is_a_row_and_the_others_go_on(monkeypatch, capsys):
    missing = everything.Bench("no_such_bench", 1, ())
    monkeypatch.setattr(everything, "BENCHES", {missing.name: missing})
    monkeypatch.setattr(sys, "argv", ["bench/all", "no_such_bench"])

    with pytest.raises(SystemExit):
        everything.main()

    assert "| no_such_bench | failed | - | - | exit code 1, see above |" in capsys.readouterr().out


def test_the_table_in_performance_md_equals_the_stored_results():
    start, end = everything._MARKS
    page = (BASE / "docs" / "performance.md").read_text()

    assert f"{start}\n{everything.stored(BASE)}\n{end}" in page


TABLES = {"auth": report.as_text, "shipping": shipping.as_text, "log_pages": log_pages.as_text}
TABLES |= {"import_list": import_list.as_text, "latency": latency.as_text, "backtest": backtest.as_text}
TABLES |= {"scale": scale.as_text, "lists": lists.as_text, "console_pages": console_pages.as_text}


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_what_was_measured(name):
    result = json.loads((BASE / "bench" / "results" / f"{name}.json").read_text())

    assert (
        f"<!-- bench.{name} -->\n{TABLES[name](result)}\n<!-- /bench.{name} -->"
        in (BASE / "docs" / "performance.md").read_text()
    )


def test_the_latency_classes_that_are_filled_in_are_those_of_the_product():
    numbers = random.Random(3)  # noqa: S311 - examples, no secrets
    for us in (200, 999, 1000, *(numbers.randrange(200, 1001) for _ in range(50))):
        step = 10 if us < 1000 else 100  # bench.fill_log does this in SQL
        assert latency_class(us) == -(-us // step) * step


@pytest.mark.full
@pytest.mark.parametrize(
    ("module", "words", "options"),
    [
        ("auth", "nginx asks data plane", ["--rounds", "1", "--requests", "2000"]),
        ("shipping", "shipping to PostgreSQL", ["--rounds", "2", "--requests", "80"]),
        ("log_pages", "page: rule, rare", ["--rows", "600", "--days", "2", "--calls", "1"]),
        ("console_pages", "live log: rule, rare", ["--rows", "600", "--days", "2", "--calls", "1"]),
        ("import_list", "the same again", ["--entries", "2000"]),
        ("backtest", "a document", ["--rows", "2000"]),
        ("latency", "p99", ["--rounds", "1", "--requests", "1000", "--seconds", "1"]),
        ("agent", "nothing", ["--rounds", "1", "--seconds", "2"]),
        ("slow_clients", "p99", ["--rounds", "1", "--seconds", "2", "--rate", "1"]),
        ("lists", "access log by subject", ["--rounds", "1", "--pages", "2", "--rows", "2000"]),
        ("scale", "all of it, git token", ["--rounds", "1", "--requests", "80", "--divide", "1000"]),
    ],
)
def test_a_benchmark_runs(module, words, options):
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{module}", *options], cwd=BASE, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert words in done.stdout
