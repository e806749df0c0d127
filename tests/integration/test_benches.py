"""The benchmarks: their tables, and (``--full``) each command from end to end with the least that it can do."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from audit.counts import latency_class
from bench import import_list, log_pages, report, shipping, traffic
from bench.shipping import Round

BASE = Path(__file__).resolve().parents[2]
TOKENS = ("first", "second")


def test_a_ratio_is_taken_within_its_round_and_bytes_are_those_of_a_record():
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


@pytest.mark.parametrize("name", ["auth", "shipping", "log_pages", "import_list"])
def test_the_page_shows_what_was_measured(name):
    result = json.loads((BASE / "bench" / "results" / f"{name}.json").read_text())
    tables = {"auth": report.as_text, "shipping": shipping.as_text, "log_pages": log_pages.as_text}
    tables["import_list"] = import_list.as_text

    assert (
        f"<!-- bench.{name} -->\n{tables[name](result)}\n<!-- /bench.{name} -->"
        in (BASE / "docs" / "performance.md").read_text()
    )


def test_the_latency_classes_that_are_filled_in_are_those_of_the_product():
    numbers = random.Random(3)  # noqa: S311 - examples, no secrets
    for latency in (200, 999, 1000, *(numbers.randrange(200, 1001) for _ in range(50))):
        step = 10 if latency < 1000 else 100  # bench.fill_log does this in SQL
        assert latency_class(latency) == -(-latency // step) * step


@pytest.mark.full
@pytest.mark.parametrize(
    ("module", "words", "options"),
    [
        ("auth", "nginx asks data plane", ["--rounds", "1", "--requests", "2000"]),
        ("shipping", "shipping to PostgreSQL", ["--rounds", "2", "--requests", "80"]),
        ("log_pages", "page: rule, rare", ["--rows", "600", "--days", "2", "--calls", "1"]),
        ("import_list", "the same again", ["--entries", "2000"]),
    ],
)
def test_a_benchmark_runs(module, words, options):
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{module}", *options], cwd=BASE, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert words in done.stdout
