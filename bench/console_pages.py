"""Time pages of the console about a large access log: ``python -m bench.console_pages [--rows N] [--write]``.

Fills a temporary PostgreSQL with rows over 30 days. ``--home`` and ``--database`` name an installation that is filled.
"""

import argparse
import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import report
from bench.site import installation_environment, run_child
from tests.postgres import postgres

_SERVER = ["-c", "shared_buffers=1GB", "-c", "max_wal_size=8GB"]
BOUND_MS = 150


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--calls", type=int, default=30)
    parser.add_argument("--home", type=Path, help="GATEWALL_HOME of an installation that was filled before")
    parser.add_argument("--database", help="its DATABASE_URL")
    report.add_outputs(parser)
    options = parser.parse_args()
    if options.home and options.database:
        environment = installation_environment(options.home) | {"DATABASE_URL": options.database}
        result = measured(environment, options)
    else:
        with tempfile.TemporaryDirectory() as home, postgres(options=_SERVER) as url:
            environment = installation_environment(Path(home)) | {"DATABASE_URL": url}
            run_child(environment, "-m", "gatewall.credentials.keyfiles")
            run_child(environment, "manage.py", "migrate", "--verbosity=0")
            size = ["--rows", str(options.rows), "--days", str(options.days)]
            run_child(environment, "-m", "bench.fill_log", *size, "--indexes-last")
            result = measured(environment, options)
    report.deliver("console_pages", result, as_text(result), options)


def measured(environment: dict[str, str], options: argparse.Namespace) -> dict[str, Any]:
    """Ask for the pages of a filled installation, and return the figures."""
    answers = json.loads(run_child(environment, "-m", "bench.ask_console", "--calls", str(options.calls)))
    when = datetime.now(UTC).date().isoformat()
    return {**report.circumstances(), "date": when, "log_rows": options.rows, "days": options.days, **answers}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    size = f"{result['log_rows']:,} rows over {result['days']} days, {result['calls']} calls each after one"
    lines = [
        f"{result['date']}: {size}, {report.machine(result)}.",
        "",
        "| Page | Links or rows | CPU ms | Least ms | Median | CPU to its limit |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['name']} | {row['found']} | {row['cpu_ms']} | {row['least_ms']} | {row['median_ms']} "
        f"| {row['cpu_ms'] / BOUND_MS:.2f} of {BOUND_MS} ms |"
        for row in result["rows"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
