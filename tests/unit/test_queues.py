"""The queues of bench.fleet against formulas of queueing theory, and the tables of their results."""

import random

import pytest

from bench import fleet, fleet_tables
from bench.queues import Polling, Shipping, answering, shipping, told

UNITS = {
    "python": "3.11", "cores": 2, "load": 0.1,
    "worker": {"service_us": [1000] * 10, "capacity": 1000, "cpu_us": 900,
               "open": {"rate": 600, "share": 0.6, "n": 9, "p50_ms": 1.5, "p99_ms": 6.0, "p999_ms": 9.0}},
    "rows": {"full": {"rows": 16000, "batches": 10, "seconds": 4.0, "held_ms_a_batch": 36.0, "agent_us_a_row": 100,
                      "store_us_a_row": 50, "wal_bytes_a_row": 1000},
             "small": {"rows": 1000, "batches": 10, "seconds": 1.0, "held_ms_a_batch": 6.0, "agent_us_a_row": 300,
                       "store_us_a_row": 100},
             "publish": {"ms": 20, "agent_ms": 10, "store_ms": 2}, "spool_bytes": 650, "column_bytes": 40,
             "postgresql_bytes": {"rows": 400, "indexes": 300, "counts": 50},
             "sqlite_bytes": {"rows": 400, "indexes": 300, "counts": 50}},
    "store": {"idle_transactions": 10, "idle_store_ms": 2.0, "agent_connections": 5, "control_plane_connections": 18,
              "workers": 2, "threads": 8},
    "policy": {"network": 26, "user": 80, "git_token": 100},
}  # fmt: skip


def mean(values):
    return sum(values) / len(values)


def test_a_worker_whose_requests_all_take_as_long_is_an_m_d_1_queue():
    took = answering([0.01], 60.0, 1, seconds=2000, bursts=False, seed=1)
    waited = 0.6 * 0.01 / (2 * (1 - 0.6))  # Pollaczek and Khinchine
    assert mean(took) == pytest.approx(0.01 + waited, rel=0.03)


def test_a_worker_whose_requests_take_by_chance_is_an_m_m_1_queue():
    chance = random.Random(5)  # noqa: S311 - no secret
    service = [chance.expovariate(100) for _ in range(20_000)]
    took = answering(service, 60.0, 1, seconds=3000, bursts=False, seed=2)
    assert mean(took) == pytest.approx(mean(service) / (1 - 60 * mean(service)), rel=0.07)


def test_workers_share_the_requests_and_bursts_cost_but_keep_the_mean_rate():
    even, bursts = (answering([0.01], 480.0, 8, seconds=60, bursts=each, seed=3) for each in (False, True))
    assert len(bursts) == pytest.approx(len(even), rel=0.1)
    assert mean(bursts) > mean(even) > 0.01


def test_the_same_seed_gives_the_same():
    costs = Polling(0.5, 0.001, 0.002, 0.01, 4)
    assert told(10, costs, edits=5, seed=4) == told(10, costs, edits=5, seed=4) != told(10, costs, edits=5, seed=5)


def test_a_change_is_everywhere_within_a_poll_and_the_work_as_long_as_the_store_is_not_full():
    took, load = told(50, Polling(0.5, 0.001, 0.002, 0.01, 4), edits=20, seed=1)
    assert all(0.2 < each < 0.5 + 0.1 for each in took)
    assert load == pytest.approx(50 * 0.001 / 0.5 / 4, rel=0.05)
    late, full = told(3000, Polling(0.5, 0.002, 0.004, 0.01, 4), edits=2, seed=1)
    assert full > 0.99
    assert late[0] > 1.0


def test_a_store_catches_up_in_the_time_that_its_spare_capacity_needs():
    costs = Shipping(lock=0.01, lock_row=0.0001, row=0.0, rows=1000)
    rate = 0.5 * costs.most
    found = shipping(10, rate, costs, away=(120.0, 720.0), seconds=3600, seed=1)
    assert found.waiting_rows == pytest.approx(rate / 10 * 600, rel=0.1)
    assert found.caught_up == pytest.approx(600, rel=0.1)
    assert found.lag_p99 < 1.0


def test_a_store_that_is_too_slow_never_catches_up():
    costs = Shipping(lock=0.01, lock_row=0.0001, row=0.0, rows=1000)
    assert shipping(10, 1.1 * costs.most, costs, away=(120.0, 720.0), seconds=3600, seed=1).caught_up is None


def test_the_cost_of_the_lock_follows_from_two_batch_sizes():
    costs = fleet.shipping_costs(UNITS)
    assert costs.row == pytest.approx((1600 * 150 - 100 * 400) / 1500 / 1e6)
    assert costs.lock == pytest.approx(100 * 400 / 1e6 - 100 * costs.row)
    assert costs.rows == 1024 * 1024 // 650
    assert costs.most == pytest.approx(costs.rows / costs.lock)


def test_hosts_follow_from_cores_and_one_may_be_lost():
    options = type("Options", (), {"cores": 8, "share": 0.6, "days": 30, "core_hour": 0.04, "gb_month": 0.1, "seed": 1})
    load = fleet._load("x", 10_000.0, 1200.0, fleet.shipping_costs(UNITS), UNITS, options)
    assert (load["cores"], load["hosts"], load["one_lost"]) == (12.0, 4, 0.5)
    assert load["gb_day"] == round(10_000 * 86_400 * 750 / 1e9)
    assert load["connections"] == 4 * 5 + 3 * 18


def test_every_table_has_a_mark_in_the_document():
    options = type("Options", (), {"cores": 2, "share": 0.6, "days": 30, "core_hour": 0.04, "gb_month": 0.1, "seed": 1})
    found = {
        "measured": UNITS, "units": UNITS, "assumed": vars(options) | {"share": 0.6},
        "costs": {"proxy_us": 300, "worker_us": 900, "agent_us": 100, "lock_ms": 4.0, "row_us": 20,
                  "most_rows": 9e3},
        "check": fleet.check(UNITS, 1), "busy": [fleet._busy(UNITS, 0.5, 2, 1)], "told": [fleet._told(3, UNITS, 1)],
        "away": [fleet._away(0.5, 3, fleet.shipping_costs(UNITS), UNITS, 1)],
        "loads": [fleet._load("x", 100.0, 1300.0, fleet.shipping_costs(UNITS), UNITS, options)],
    }  # fmt: skip
    page = (fleet._BASE / "docs" / "scaling.md").read_text()
    for mark, table in fleet_tables.as_text(found).items():
        assert f"<!-- fleet.{mark} -->" in page
        lines = [line for line in table.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1
        assert len(lines) >= 3
