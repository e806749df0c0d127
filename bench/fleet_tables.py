"""Tables of docs/scaling.md from the results of bench.fleet. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from bench import report


def as_text(found: dict[str, Any]) -> dict[str, str]:
    """Return the tables as Markdown, by their marks in the document."""
    return {
        "units": _units(found),
        "check": _check(found),
        "busy": _busy(found),
        "told": _told(found),
        "away": _away(found),
        "loads": _loads(found),
    }


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(map(str, line))} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _units(found: dict[str, Any]) -> str:
    costs, rows, store, policy = found["costs"], *(found["units"][name] for name in ("rows", "store", "policy"))
    taken, sqlite = rows["postgresql_bytes"], rows["sqlite_bytes"]
    told = [
        ("nginx, for a request that it asks about (`auth.json`)", f"{costs['proxy_us']:.0f} us CPU"),
        ("worker, a request", f"{costs['worker_us']:.0f} us CPU"),
        ("agent, a row shipped", f"{costs['agent_us']:.0f} us CPU"),
        (
            "PostgreSQL, a row",
            f"{rows['full']['store_us_a_row']:.0f} us CPU, {rows['full']['wal_bytes_a_row']:.0f} bytes of WAL",
        ),
        ("the lock of all hosts, a batch: CPU of agent and store", f"{costs['lock_ms']:.0f} ms"),
        ("the same as the clock saw it, on this busy machine", f"{rows['full']['held_ms_a_batch']:.0f} ms"),
        ("rows that one store can take, by that lock", f"{costs['most_rows']:,.0f} a second"),
        ("a record in the spool", f"{rows['spool_bytes']} bytes"),
        ("a row on PostgreSQL: row, indexes, counts", "{rows}, {indexes}, {counts} bytes".format(**taken)),
        ("a row on SQLite: row, indexes, counts", "{rows}, {indexes}, {counts} bytes".format(**sqlite)),
        ("a row, its columns compressed one by one (zlib)", f"{rows['column_bytes']} bytes"),
        (
            "a host with nothing to do, of the store",
            f"{store['idle_transactions']} transactions and {store['idle_store_ms']} ms CPU a second",
        ),
        (
            "publishing one ban on a host",
            f"{rows['publish']['agent_ms']:.1f} ms CPU there, {rows['publish']['store_ms']:.1f} ms of the store",
        ),
        ("connections of an agent", store["agent_connections"]),
        (
            f"connections of a control plane of {store['workers']} x {store['threads']} threads",
            store["control_plane_connections"],
        ),
        ("published policy, a network, a user, a git token", "{network}, {user}, {git_token} bytes".format(**policy)),
    ]
    return f"{report.machine(found['measured'])}.\n\n" + _table(["What", "Measured"], told)


def _check(found: dict[str, Any]) -> str:
    check = found["check"]
    head = (
        f"One worker that answers {check['capacity']} requests a second at most, asked {check['rate']} times a second "
        f"by chance, {check['n']:,} requests."
    )
    rows = [(row["what"], row["model_ms"], row["measured_ms"], f"{row['off']:+.0%}") for row in check["rows"]]
    return f"{head}\n\n" + _table(["", "Model, ms", "Measured, ms", "Model is off by"], rows)


def _busy(found: dict[str, Any]) -> str:
    head = ["Workers busy", "Requests a second", "p50, ms", "p99", "p99.9", "with bursts: p50", "p99", "p99.9"]
    parts = [f"{kind}_{part}" for kind in ("even", "bursts") for part in ("p50", "p99", "p999")]
    return _table(head, [(f"{row['share']:.0%}", row["rate"], *(row[part] for part in parts)) for row in found["busy"]])


def _told(found: dict[str, Any]) -> str:
    head = [
        "Hosts",
        "Transactions a second by agents",
        "Of a store of four cores",
        "In force everywhere, median ms",
        "Most",
    ]
    rows = [
        (row["hosts"], row["transactions"], f"{row['load']:.1%}", row["median_ms"], row["most_ms"])
        for row in found["told"]
    ]
    return _table(head, rows)


def _away(found: dict[str, Any]) -> str:
    head = [
        "Rows a second",
        "Of what the store takes",
        "Hosts",
        "Rows are late by, p99",
        "Spool of a host",
        "Caught up after",
    ]
    rows = [
        (f"{row['rate']:,}", f"{row['part']:.0%}", row["hosts"], f"{row['lag_ms']:,} ms", f"{row['spool_mb']} MB",
         "not within hours" if row["caught_up_s"] is None else f"{row['caught_up_s']} s")
        for row in found["away"]
    ]  # fmt: skip
    return _table(head, rows)


def _loads(found: dict[str, Any]) -> str:
    assumed, loads = found["assumed"], found["loads"]
    head = (
        f"Assumed: hosts of {assumed['cores']} cores, of which and of stores {assumed['share']:.0%} are used; one host "
        f"more than needed; rows kept {assumed['days']} days; a core costs {assumed['core_hour']} an hour, a GB "
        f"{assumed['gb_month']} a month."
    )
    told = [
        ("requests a second", [f"{row['rate']:,}" for row in loads]),
        ("cores that answer and ship", [f"{row['cores']:,}" for row in loads]),
        ("hosts", [f"{row['hosts']:,}" for row in loads]),
        ("busy when one is lost", [f"{row['one_lost']:.0%}" for row in loads]),
        ("connections, with three control planes", [f"{row['connections']:,}" for row in loads]),
        ("policy of a million networks, 100,000 users: MB a host", [row["snapshot_mb"] for row in loads]),
        ("minutes without a store until the spool of a host is full", [row["spool_minutes"] for row in loads]),
        ("rows a day", [f"{row['rows_a_day']:,.0f}" for row in loads]),
        ("GB a day in PostgreSQL", [f"{row['gb_day']:,}" for row in loads]),
        ("WAL, MB a second", [f"{row['wal_mb_s']:,}" for row in loads]),
        ("PostgreSQL stores for rows, by the lock", [f"{row['stores']:,}" for row in loads]),
        ("their cores", [f"{row['store_cores']:,}" for row in loads]),
        ("rows of a day's partition in each", [f"{row['partition_rows']:,.0f}" for row in loads]),
        ("GB a day in a column store", [f"{row['columns_gb_day']:,}" for row in loads]),
        ("a month: hosts", [f"{row['month']['hosts']:,}" for row in loads]),
        ("a month: cores of the stores", [f"{row['month']['store']:,}" for row in loads]),
        ("a month: disk, all rows in PostgreSQL", [f"{row['month']['postgresql_disk']:,}" for row in loads]),
        ("a month: disk, all rows in columns", [f"{row['month']['columns_disk']:,}" for row in loads]),
    ]
    return f"{head}\n\n" + _table(["", *(row["name"] for row in loads)], [(name, *values) for name, values in told])
