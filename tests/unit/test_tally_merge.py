"""Merged figures of parts of a window equal those of the whole, within their error."""

import json
import random
from dataclasses import replace

import pytest

from gatewall.replay import heavy_hitters
from gatewall.replay.heavy_hitters import EXAMPLES
from gatewall.replay.tally import Tally
from tests.support.cast import NOW, OFFICE, a_policy
from tests.unit.recorded import a_rule_for
from tests.unit.test_backtest import a_comparison, a_row


@pytest.fixture(scope="module")
def counted():
    """Return requests, newest first, each with its comparison under a change; all kinds of results occur."""
    denied = a_policy(version=2, domains={OFFICE: "denied"})
    cookies = a_policy(version=2, domains={OFFICE: "public"}, rules=[a_rule_for("cookies")])
    public = a_policy(domains={OFFICE: "public"})
    comparisons = [a_comparison(public, denied), a_comparison(denied, public), a_comparison(public, cookies)]
    chance = random.Random(3)  # noqa: S311 - examples, no secrets
    row, found = a_row(1), []
    of_row = [comparison.of(row) for comparison in comparisons]
    for number in range(400):
        person = {"kind": "user", "id": chance.randrange(9), "name": chance.choice(["Bob", "\ud800bobby"])}
        parts = {
            "decision_id": f"{number}",
            "at": NOW - number / 7,
            "client_ip": f"198.51.100.{chance.randrange(40)}",
            "path": chance.choice(["/wiki", "/users/17/x", "/日本"]),
            "subject": chance.choice([None, person]),
        }
        found.append((replace(row, **parts), chance.choice([None, *of_row])))
    return found


def tally_of(counted):
    tally = Tally()
    for record, compared in counted:
        tally.add(record, compared)
    return tally


@pytest.mark.parametrize("size", [1, 7, 100, 399, 400])
def test_figures_of_parts_are_those_of_the_whole(counted, size):
    merged = Tally()
    for start in range(0, len(counted), size):
        merged.merge(json.loads(json.dumps(tally_of(counted[start : start + size]).as_json())))

    whole = tally_of(counted).result()
    assert merged.result() == whole
    assert all(whole[name] for name in ("untouched", "changed", "undecidable"))
    assert whole["undecidable"]["total"] > 0
    assert whole["access"]["people"]["results"][0]["count"] > EXAMPLES


def test_merged_figures_are_bounded_and_have_an_error(monkeypatch, counted):
    monkeypatch.setattr(heavy_hitters, "_KEPT", 5)
    some = [each for each in counted if each[1] is not None and each[1].is_changed]
    merged = Tally()
    for start in range(0, len(some), 20):
        merged.merge(tally_of(some[start : start + 20]).as_json())
    monkeypatch.setattr(heavy_hitters, "_KEPT", 2_000)
    true = tally_of(some).result()["clients"]

    clients = merged.result()["clients"]
    shown = {row["client_ip"]: row["count"] for row in clients["results"]}
    assert len(shown) <= 10
    assert 0 < clients["error"] <= len(some) / 6
    for row in true["results"]:
        assert row["count"] - clients["error"] <= shown.get(row["client_ip"], 0) <= row["count"]
