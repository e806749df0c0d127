"""Time statistics and pages of a large access log: ``python -m bench.log_pages [--rows N] [--write]``.

Fills a temporary PostgreSQL with rows over 30 days and queries the API. Ten million rows take 15 minutes and 15 GB.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from bench import report, sizes
from bench.site import installation_environment, run_child
from tests.postgres import postgres

_SERVER = ["-c", "shared_buffers=1GB", "-c", "max_wal_size=8GB"]


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--calls", type=int, default=30)
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, postgres(options=_SERVER) as url:
        result = measured(url, Path(home), rows=options.rows, days=options.days, calls=options.calls)
    report.deliver("log_pages", result, as_text(result), options)


def measured(url: str, home: Path, *, rows: int, days: int, calls: int) -> dict[str, Any]:
    """Fill this empty database, query it, and return the figures."""
    environment = installation_environment(home) | {"DATABASE_URL": url}
    run_child(environment, "-m", "gatewall.credentials.keyfiles")
    run_child(environment, "manage.py", "migrate", "--verbosity=0")
    run_child(environment, "-m", "bench.fill_log", "--rows", str(rows), "--days", str(days))
    taken = sizes.of_postgres(url)
    answers = json.loads(run_child(environment, "-m", "bench.ask_log", "--calls", str(calls)))
    number = rows + rows // days / 2  # the current day is incomplete
    each = {part: round(size / number) for part, size in taken.items()}
    return {**report.circumstances(), "log_rows": rows, "days": days, "bytes": each, **answers}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    taken, retention = result["bytes"], result["retention"]
    head = (
        f"{result['log_rows']:,} rows over {result['days']} days, {result['calls']} calls each after one, "
        f"{report.machine(result)}. A row takes {taken['rows']} bytes, its indexes {taken['indexes']}, its share of "
        f"the counts {taken['counts']}. One decision by its id: {result['decision_ms']} ms. "
        f"`prune_logs` of {retention['partitions']} whole days and {retention['single_rows']:,} single rows: "
        f"{retention['seconds']} s."
    )
    lines = [
        head,
        "",
        "| Asked | Found | Least ms | Median | p95 | Median without ANALYZE | Bound |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        bound = row["bound_ms"] or "-"
        lines.append(
            f"| {row['name']} | {row['found']:,} | {row['least_ms']} | {row['median_ms']} | {row['p95_ms']} "
            f"| {row['without_statistics_ms']} | {bound} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
