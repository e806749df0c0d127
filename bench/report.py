"""Turns rounds into medians, spreads and ratios, as text, JSON and docs/performance.md."""

import json
import platform
import statistics
from pathlib import Path
from typing import Any

_START, _END = "<!-- bench.auth -->", "<!-- /bench.auth -->"


def summary(rounds: list[dict[str, float]], limits: dict[str, str], requests: int) -> dict[str, Any]:
    """Return median and spread of every server's cost, and of its ratio to its limit in the same round.

    A ratio of 0.5 means: twice the CPU of the limit.
    """
    servers = []
    for name, limit in limits.items():
        costs = [costs[name] for costs in rounds]
        row: dict[str, Any] = {"name": name, "cpu_us": _spread(costs)}
        if limit:
            row["limit"] = limit
            row["ratio"] = _spread([costs[limit] / costs[name] for costs in rounds])
        servers.append(row)
    return {"rounds": len(rounds), "requests": requests, "python": platform.python_version(), "servers": servers}


def _spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 3),
        "least": round(min(values), 3),
        "most": round(max(values), 3),
    }


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    lines = [
        f"{result['rounds']} interleaved rounds of {result['requests']} requests, Python {result['python']}.",
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


def write(result: dict[str, Any], base: Path) -> None:
    """Write the JSON, and the table into docs/performance.md between its marks."""
    results = base / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / "auth.json").write_text(json.dumps(result, indent=2) + "\n")
    page = base / "docs" / "performance.md"
    before, _, rest = page.read_text().partition(_START)
    _, _, after = rest.partition(_END)
    page.write_text(f"{before}{_START}\n{as_text(result)}\n{_END}{after}")
