"""Hosts and stores that a load needs: ``python -m bench.fleet [--write]``, from bench/results/units.json.

Seeded queue simulations (bench.queues) over measurements of one machine. Prices are assumptions, and options.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

from bench import report
from bench.fleet_tables import as_text
from bench.queues import Polling, Shipping, answering, shipping, told

_BASE = Path(__file__).resolve().parent.parent
_RESULTS = _BASE / "bench" / "results"
_DAY = 86_400
_LOADS = {"10,000 requests a second": 1e4, "1,000,000,000 rows a day": 1e9 / _DAY, "1,000,000 requests a second": 1e6}
_AWAY = (120.0, 720.0)
"""The store is down for ten minutes, from minute two."""
_FRAMES = 1024 * 1024
_SPOOL = 1024 * _FRAMES
_NETWORKS, _USERS = 1_000_000, 100_000
Units = dict[str, Any]


def main(options: argparse.Namespace) -> dict[str, Any]:
    """Return the results of the simulations."""
    units: Units = json.loads((_RESULTS / "units.json").read_text())
    auth = json.loads((_RESULTS / "auth.json").read_text())
    cpu = {row["name"]: row["cpu_us"]["median"] for row in auth["servers"]}
    costs = {
        "proxy_us": cpu["nginx asks data plane"] - cpu["data plane"],
        "worker_us": units["worker"]["cpu_us"],
        "agent_us": units["rows"]["full"]["agent_us_a_row"],
    }
    rows = shipping_costs(units)
    assumed = {name: getattr(options, name) for name in ("cores", "share", "days", "core_hour", "gb_month", "seed")}
    return {
        "measured": {name: units[name] for name in ("python", "cores", "load")},
        "units": {name: units[name] for name in ("store", "policy", "rows")},
        "costs": {**costs, "lock_ms": rows.lock * 1e3, "row_us": rows.row * 1e6, "most_rows": rows.most},
        "assumed": assumed,
        "check": check(units, options.seed),
        "busy": [_busy(units, share, options.cores, options.seed) for share in (0.4, 0.5, 0.6, 0.7, 0.8)],
        "told": [_told(hosts, units, options.seed) for hosts in (3, 30, 100, 300, 1000)],
        "away": [
            _away(part, hosts, rows, units, options.seed)
            for part, hosts in ((0.2, 10), (0.5, 10), (0.8, 10), (0.5, 100))
        ],
        "loads": [_load(name, rate, sum(costs.values()), rows, units, options) for name, rate in _LOADS.items()],
    }


def shipping_costs(units: Units) -> Shipping:
    """Return what a batch takes, drawn through small and full ones, in CPU of agent and store.

    What does not grow with its rows is taken for what happens under the lock: the counts. The disk is not in it.
    """
    (few, little), (many, much) = (_batch(units["rows"][size]) for size in ("small", "full"))
    row = (much - little) / (many - few)
    return Shipping(max(0.0, little - row * few), 0.0, row, int(_FRAMES / units["rows"]["spool_bytes"]))


def _batch(shipped: dict[str, float]) -> tuple[float, float]:
    """Return the rows and CPU seconds of a batch."""
    rows = shipped["rows"] / shipped["batches"]
    return rows, rows * (shipped["agent_us_a_row"] + shipped["store_us_a_row"]) / 1e6


def check(units: Units, seed: int) -> dict[str, Any]:
    """Compare the model with the open-loop measurement.

    A request occupies the worker according to its capacity; the rest of its latency is outside the worker.
    """
    worker, there = units["worker"], units["worker"]["open"]
    alone = [each / 1e6 for each in worker["service_us"]]
    mean = sum(alone) / len(alone)
    keeps = [each * (1 / worker["capacity"]) / mean for each in alone]
    outside = mean - 1 / worker["capacity"]
    took = answering(keeps, there["rate"], 1, seconds=300, bursts=False, seed=seed)
    said = {f"{name}_ms": (_at(took, part) + outside) * 1e3 for name, part in _SHARES.items()}
    rows = [
        {"what": name, "model_ms": round(said[name], 2), "measured_ms": there[name],
         "off": round(said[name] / there[name] - 1, 3)}
        for name in said
    ]  # fmt: skip
    return {"capacity": worker["capacity"], "rate": there["rate"], "n": there["n"], "rows": rows}


_SHARES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def _busy(units: Units, share: float, workers: int, seed: int) -> dict[str, float]:
    """Return latencies on a host whose workers are busy for this share of the time."""
    worker = units["worker"]
    mean = sum(worker["service_us"]) / len(worker["service_us"])
    keeps = [each / mean / worker["capacity"] for each in worker["service_us"]]
    rate = share * workers * worker["capacity"]
    found = {"share": share, "rate": round(rate)}
    for name, bursts in (("even", False), ("bursts", True)):
        took = answering(keeps, rate, workers, seconds=60, bursts=bursts, seed=seed)
        found |= {f"{name}_{each}": round(_at(took, part) * 1e3, 2) for each, part in _SHARES.items()}
    return found


def _told(hosts: int, units: Units, seed: int) -> dict[str, float]:
    """Return the delay until a change is in force everywhere, and the load of polling on a store of four cores."""
    idle, publication = units["store"], units["rows"]["publish"]
    poll = idle["idle_store_ms"] / 1e3 * 0.5
    costs = Polling(0.5, poll, publication["store_ms"] / 1e3, publication["agent_ms"] / 1e3, 4)
    took, load = told(hosts, costs, edits=30, seed=seed)
    return {
        "hosts": hosts,
        "transactions": round(hosts * idle["idle_transactions"]),
        "load": round(load, 4),
        "median_ms": round(_at(took, 0.5) * 1e3),
        "most_ms": round(took[-1] * 1e3),
    }


def _away(part: float, hosts: int, costs: Shipping, units: Units, seed: int) -> dict[str, Any]:
    """Return the effects of a store outage of ten minutes, at this share of the store's capacity."""
    rate = part * costs.most
    found = shipping(hosts, rate, costs, away=_AWAY, seconds=4 * 3600, seed=seed)
    return {
        "part": part,
        "hosts": hosts,
        "rate": round(rate),
        "lag_ms": round(found.lag_p99 * 1e3),
        "spool_mb": round(found.waiting_rows * units["rows"]["spool_bytes"] / 1e6, 1),
        "caught_up_s": None if found.caught_up is None else round(found.caught_up),
    }


def _load(name: str, rate: float, request_us: float, rows: Shipping, units: Units, options: Any) -> dict[str, Any]:
    """Return the hosts, stores and costs that this load needs."""
    used = rate * request_us / 1e6
    hosts = math.ceil(used / options.share / options.cores) + 1  # one spare
    stores = math.ceil(rate / options.share / rows.most)
    store_cores = rate * units["rows"]["full"]["store_us_a_row"] / 1e6 / options.share
    taken = units["rows"]["postgresql_bytes"]
    gb_day = rate * _DAY * sum(taken.values()) / 1e9
    columns_gb_day = rate * _DAY * units["rows"]["column_bytes"] / 1e9
    held = units["store"]
    month = {
        "hosts": hosts * options.cores * options.core_hour * 730,
        "store": store_cores * options.core_hour * 730,
        "postgresql_disk": gb_day * options.days * options.gb_month,
        "columns_disk": columns_gb_day * options.days * options.gb_month,
    }
    return {
        "name": name,
        "rate": round(rate),
        "cores": round(used, 1),
        "hosts": hosts,
        "one_lost": round(used / options.cores / max(1, hosts - 1), 2),
        "connections": hosts * held["agent_connections"] + 3 * held["control_plane_connections"],
        "rows_a_day": rate * _DAY,
        "wal_mb_s": round(rate * units["rows"]["full"]["wal_bytes_a_row"] / 1e6, 1),
        "gb_day": round(gb_day),
        "columns_gb_day": round(columns_gb_day),
        "stores": stores,
        "store_cores": round(store_cores, 1),
        "partition_rows": rate * _DAY / stores,
        "spool_minutes": round(_SPOOL / units["rows"]["spool_bytes"] / (rate / hosts) / 60, 1),
        "snapshot_mb": round(
            (_NETWORKS * units["policy"]["network"] + _USERS * (units["policy"]["user"] + units["policy"]["git_token"]))
            / 1e6
        ),
        "month": {part: round(price) for part, price in month.items()},
    }


def _at(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=8, help="of a host")
    parser.add_argument("--share", type=float, default=0.6, help="of a host or store that is used")
    parser.add_argument("--days", type=int, default=30, help="that rows are kept")
    parser.add_argument("--core-hour", type=float, default=0.04, help="price")
    parser.add_argument("--gb-month", type=float, default=0.10, help="price")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write bench/results/fleet.json and docs/scaling.md")
    found = main(parser.parse_args())
    for table in as_text(found).values():
        print(table, end="\n\n")  # noqa: T201 - a command
    if parser.parse_args().write:
        (_RESULTS / "fleet.json").write_text(json.dumps(found, indent=2) + "\n")
        for mark, table in as_text(found).items():
            report.put(_BASE / "docs" / "scaling.md", f"fleet.{mark}", table)
