"""Convert rounds to medians, spreads and ratios, as text, JSON and docs/performance.md."""

import argparse
import json
import os
import platform
import statistics
from pathlib import Path
from typing import Any

_BASE = Path(__file__).resolve().parent.parent


def summary(rounds: list[dict[str, float]], limits: dict[str, str], requests: int) -> dict[str, Any]:
    """Return median and spread of each server's cost, and of its ratio to the baseline of the same round.

    A ratio of 0.5 means twice the CPU of the baseline.
    """
    servers = []
    for name, limit in limits.items():
        costs = [costs[name] for costs in rounds]
        row: dict[str, Any] = {"name": name, "cpu_us": spread(costs)}
        if limit:
            row["limit"] = limit
            row["ratio"] = spread([costs[limit] / costs[name] for costs in rounds])
        servers.append(row)
    return {**circumstances(), "rounds": len(rounds), "requests": requests, "servers": servers}


def spread(values: list[float]) -> dict[str, float]:
    """Return median, minimum and maximum."""
    return {
        "median": round(statistics.median(values), 3),
        "least": round(min(values), 3),
        "most": round(max(values), 3),
    }


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    lines = [
        f"{result['rounds']} interleaved rounds of {result['requests']} requests, {machine(result)}.",
        "",
        "| Server | CPU us a request (least to most) | Ratio to its limit (least to most) |",
        "|---|---|---|",
    ]
    for server in result["servers"]:
        cost, ratio = server["cpu_us"], server.get("ratio")
        shown = (
            f"{ratio['median']:.2f} ({ratio['least']:.2f} to {ratio['most']:.2f}) of {server['limit']}"
            if ratio
            else "limit"
        )
        lines.append(
            f"| {server['name']} | {cost['median']:.0f} ({cost['least']:.0f} to {cost['most']:.0f}) | {shown} |"
        )
    return "\n".join(lines)


def circumstances() -> dict[str, Any]:
    """Return the machine and versions of a measurement; its load includes the benchmark's own."""
    return {"python": platform.python_version(), "cores": os.cpu_count(), "load": round(os.getloadavg()[1], 1)}


def machine(result: dict[str, Any]) -> str:
    """Return the circumstances as text."""
    load = f" under a load of {result['load']}" if "load" in result else ""
    return f"Python {result['python']}, {result['cores']} cores{load}"


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add the options that ``deliver`` reads."""
    parser.add_argument("--write", action="store_true", help="write into bench/results and docs/performance.md, too")
    parser.add_argument("--json", type=Path, help="write the figures into this file, too")


def deliver(name: str, result: dict[str, Any], table: str, options: argparse.Namespace) -> None:
    """Print the table, and write it and the figures as the options specify."""
    print(table)  # noqa: T201 - a command
    if options.json:
        options.json.write_text(json.dumps(result))
    if options.write:
        write(name, result, table, _BASE)


def write(name: str, result: dict[str, Any], table: str, base: Path) -> None:
    """Write the JSON, and the table between its marks in docs/performance.md."""
    results = base / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
    put(base / "docs" / "performance.md", f"bench.{name}", table)


def put(page: Path, mark: str, table: str) -> None:
    """Put the table between the marks of this name on a page."""
    start, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    before, found, rest = page.read_text().partition(start)
    _, _, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{page.name} has no place for {mark}")
    page.write_text(f"{before}{start}\n{table}\n{end}{after}")
