"""Speed of backtests over a large access log: ``python -m bench.backtest [--rows N] [--write]``.

Fills the SQLite of a new installation and replays all rows under drafts of each kind; the baseline only reads the rows.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from bench import report
from bench.site import prepared_site, run_child

_PEOPLE = 20


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        result = measured(Path(home), rows=options.rows)
    report.deliver("backtest", result, as_text(result), options)


def measured(home: Path, *, rows: int) -> dict[str, Any]:
    """Fill the log of an installation in this folder, run the drafts, and return the figures."""
    site = prepared_site(home, people=_PEOPLE)
    run_child(site.environment, "-m", "bench.run_backtests", "--fill", str(rows))
    figures = json.loads(run_child(site.environment, "-m", "bench.run_backtests"))
    return {**report.circumstances(), "log_rows": rows, **figures}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    head = (
        f"{result['log_rows']:,} rows on SQLite, {report.machine(result)}. Read and no more: "
        f"{result['read_a_second']:,} rows a second of CPU."
    )
    lines = [
        head,
        "",
        "| Draft | Seconds | CPU seconds | Rows a second of CPU | Of reading | Untouched | Changed | Undecidable |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['name']} | {row['seconds']:.0f} | {row['cpu_seconds']:.0f} | {row['rows_a_second']:,} "
        f"| {row['ratio']:.2f} | {row['untouched']:,} | {row['changed']:,} | {row['undecidable']:,} |"
        for row in result["drafts"]
    ]
    lines += [
        "",
        "| Processes, last draft | Seconds | CPU seconds of all |",
        "|---|---|---|",
        *(f"| {row['processes']} | {row['seconds']} | {row['cpu_seconds']} |" for row in result["processes"]),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
