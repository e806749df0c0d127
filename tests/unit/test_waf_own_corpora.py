"""The built-in rules on corpora of our own: recorded harmless requests, and attacks in encodings and places."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from gatewall.engine.waf.judge import Judge, request_of
from tests.corpora.applications import APPLICATIONS, PER_APPLICATION, requests
from tests.corpora.mixed import ENCODERS, PLACES, sample
from tests.corpora.payloads import PAYLOADS
from tests.corpora.programs.storage import STORED, stored
from tests.corpora.record.clean import made_up
from tests.support.form import by_form

BENIGN = Path(__file__).parents[1] / "corpora" / "benign.jsonl.gz"
PAGE = Path(__file__).parents[2] / "docs" / "waf.md"
JUDGE = Judge(None)


def refusing(item):
    """Return the names of the rules that refuse a request of a corpus."""
    headers = [(name.encode(), value.encode("latin-1")) for name, value in item["headers"].items()]
    body = (item["body"] or "").encode("latin-1") or None
    request = request_of(item["method"].encode(), item["uri"].encode("latin-1"), headers, body)
    return [rule.name for rule in JUDGE.refusing(request)]


@pytest.fixture(scope="module")
def benign():
    return [json.loads(line) for line in gzip.decompress(BENIGN.read_bytes()).splitlines()]


def test_recorded_requests_are_many_and_of_every_kind(benign):
    sessions = Counter(item["meta"]["session"] for item in benign)

    assert len({(item["method"], item["uri"]) for item in benign}) >= 5000
    assert set(sessions) == {
        "own-api", "own-pages", "searches", "git", "webdav", "packages", "dashboards", "sign-in",
    }  # fmt: skip
    assert min(sessions.values()) >= 100
    assert BENIGN.stat().st_size < 600 * 1024


@pytest.mark.parametrize("each", [by_form(full=1, default=4)])
def test_no_recorded_request_is_refused(benign, each):
    chosen = benign[::each]
    refused = [(item["method"], item["uri"], names) for item in chosen if (names := refusing(item))]

    assert refused == []
    assert len({item["meta"]["session"] for item in chosen}) == 8


def test_recorded_requests_name_no_machine(benign):
    text = json.dumps(benign)

    checkout = str(Path(__file__).parents[2])
    assert [word for word in (checkout, "tmp/recorded-", "root/.", "gate.test") if word in text] == []


def test_made_up_secret_has_the_shape_of_the_secret():
    made = made_up("gw_Abc-123.Zz==")

    assert made == made_up("gw_Abc-123.Zz==")
    assert made != "gw_Abc-123.Zz=="
    assert [each.isalpha() for each in made] == [each.isalpha() for each in "gw_Abc-123.Zz=="]


@pytest.mark.parametrize("count", [by_form(full=1500, default=700)])
def test_mixed_attacks_are_found(count):
    items = sample(count)
    missed = [item for item in items if not refusing(item)]
    worst = Counter(item["meta"]["place"] for item in missed) + Counter(item["category"] for item in missed)

    assert len(missed) <= 0.12 * len(items), worst.most_common(8)


def test_mixed_attacks_are_the_same_each_time_and_cover_the_table():
    items = sample(1500)
    wrapped = {tuple(item["id"].rsplit("/", 2)[1:]) for item in items}

    assert items == sample(1500)
    assert sum(map(len, PAYLOADS.values())) >= 300
    assert {encoder for encoder, _ in wrapped} == set(ENCODERS)
    assert {place for _, place in wrapped} == set(PLACES)


@pytest.mark.parametrize("each", [by_form(full=1, default=20)])
def test_almost_no_request_of_an_application_is_refused(each):
    items = requests()[::each]
    refused = Counter(item["category"] for item in items if refusing(item))

    assert (len(APPLICATIONS) >= 30, PER_APPLICATION) == (True, 100)
    assert {item["category"] for item in items} == set(APPLICATIONS)
    assert refused.total() <= 0.01 * len(items), refused
    assert max(refused.values(), default=0) <= 6, refused


@pytest.fixture(scope="module")
def programs():
    return stored()


def test_recorded_programs_are_many_with_version_and_source(programs):
    by_program = Counter(item["category"] for item in programs)

    assert len(by_program) >= 30
    assert min(by_program.values()) >= 100
    assert len(programs) >= 3_000
    assert sum(bool(item["body"]) for item in programs) > 0.4 * len(programs)
    assert all(item["meta"]["version"] and item["meta"]["recorded"] for item in programs)
    assert {bool(item["meta"]["clients"]) for item in programs} == {True}
    assert STORED.stat().st_size < 1024 * 1024


def test_page_shows_the_refusals_of_every_recorded_program(programs):
    counts: dict[str, Counter[str]] = {item["category"]: Counter() for item in programs}
    for item in programs:
        if names := refusing(item):
            counts[item["category"]].update(["", *names])
    by_name = {name: [item for item in programs if item["category"] == name] for name in sorted(counts)}
    rows = [row_of(name, items, counts[name]) for name, items in by_name.items()]

    assert [row for row in rows if row not in PAGE.read_text().splitlines()] == []
    assert sum(each[""] for each in counts.values()) <= 0.003 * len(programs)


def row_of(name, items, refused):
    """Return the row of a program in the table of docs/waf.md."""
    about = items[0]["meta"]
    rules = ", ".join(f"`{rule}` {count}" for rule, count in sorted(refused.items()) if rule) or "-"
    bodies = sum(bool(item["body"]) for item in items)
    clients = ", ".join(about["clients"])
    return f"| {name} {about['version']} | {clients} | {len(items)} | {bodies} | {refused['']} | {rules} |"


def test_recorded_programs_name_no_machine(programs):
    text = json.dumps(programs)

    checkout = str(Path(__file__).parents[2])
    assert [word for word in (checkout, "tmp/recorded-", "gw-h", "127.0.0.1:", "localhost:") if word in text] == []
