"""Cost of pages of long lists: ``python -m bench.lists [--rounds N] [--pages N] [--rows N] [--write]``.

Compares an SQLite installation with a million networks and log rows and 100,000 users, tokens and licenses to one with
1,000 of each, in interleaved rounds over the first 100 pages: CPU milliseconds per page (SQLite's included) as a ratio
within the round, and statements.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import report
from bench.questions import QUESTIONS
from bench.site import installation_environment, run_child

_BASE = Path(__file__).resolve().parent.parent
_LITTLE = 1000
_PEOPLE_IN = 10
"""Rows per user, above the size of the small installation."""


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--requests", "--pages", type=int, default=100, help="pages of each list in a round")
    parser.add_argument("--rows", type=int, default=1_000_000)
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        sizes = {"little": _LITTLE, "much": options.rows}
        asked = {name: stack.enter_context(_asker(Path(folder) / name, rows)) for name, rows in sizes.items()}
        rounds = [_round(asked, options.requests) for _ in range(options.rounds)]
    result = summary(rounds, options.rows, options.requests)
    report.deliver("lists", result, as_text(result), options)


@contextmanager
def _asker(home: Path, rows: int) -> Iterator["subprocess.Popen[str]"]:
    """Fill an installation in this folder, and yield a process that answers questions about it."""
    environment = installation_environment(home)
    run_child(environment, "-m", "gatewall.credentials.keyfiles")
    run_child(environment, "manage.py", "migrate", "--verbosity=0")
    people = max(_LITTLE, rows // _PEOPLE_IN)
    command = [sys.executable, "-m", "bench.ask_lists", "--rows", str(rows), "--people", str(people)]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603 - our own command
        command, cwd=_BASE, env=environment, stdin=pipe, stdout=pipe, text=True
    ) as asker:
        _said(asker)
        yield asker
        if asker.stdin is not None:
            asker.stdin.close()


def _said(asker: "subprocess.Popen[str]") -> str:
    line = asker.stdout.readline() if asker.stdout is not None else ""
    if not line:
        raise SystemExit("bench.ask_lists ended, see above")
    return line


def _round(asked: dict[str, "subprocess.Popen[str]"], pages: int) -> list[dict[str, Any]]:
    """Return each installation's answer to each question."""
    found = []
    for number in range(len(QUESTIONS)):
        answers = {}
        for name, asker in asked.items():
            if asker.stdin is not None:
                asker.stdin.write(f"{number} {pages}\n")
                asker.stdin.flush()
            answers[name] = json.loads(_said(asker))
        found.append(answers)
    return found


def summary(rounds: list[list[dict[str, Any]]], rows: int, pages: int) -> dict[str, Any]:
    """Return milliseconds, ratios within each round, and statements per page, for each question."""
    found = []
    for number, question in enumerate(QUESTIONS):
        each = [answers[number] for answers in rounds]
        row: dict[str, Any] = {"name": question.name}
        for name in ("little", "much"):
            row[name] = report.spread([answers[name]["ms"] for answers in each])
            row[f"statements_{name}"] = max(answers[name]["statements"] for answers in each)
        row["ratio"] = report.spread([answers["much"]["ms"] / answers["little"]["ms"] for answers in each])
        found.append(row)
    return {**report.circumstances(), "rounds": len(rounds), "pages": pages, "log_rows": rows, "rows": found}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    head = (
        f"{result['log_rows']:,} rows on SQLite to {_LITTLE:,}, {result['rounds']} interleaved rounds of the first "
        f"{result['pages']} pages, {report.machine(result)}."
    )
    lines = [
        head,
        "",
        "| List | CPU ms a page, little | Much (least to most) | Ratio within a round | Statements, little and much |",
        "|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        much, ratio = row["much"], row["ratio"]
        lines.append(
            f"| {row['name']} | {row['little']['median']:.1f} | {much['median']:.1f} ({much['least']:.1f} to "
            f"{much['most']:.1f}) | {ratio['median']:.2f} ({ratio['least']:.2f} to {ratio['most']:.2f}) "
            f"| {row['statements_little']}, {row['statements_much']} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
