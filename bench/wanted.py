"""Targets of each measurement, and whether they were met: rows of one table, from the figures only."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

_REPORTED = "reported"
_AUTH = {
    "bare application": None,
    "data plane": 0.25,
    "data plane, WAF off": 0.35,
    "data plane, all first seen": 0.5,
    "nginx asks data plane": 0.45,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement: figure, target, whether it is met (None: no target), minimum to maximum."""

    measurement: str
    figure: str
    wanted: str
    reached: bool | None
    spread: str


def rows(name: str, result: dict[str, Any]) -> list[Row]:
    """Return the rows of a benchmark from its figures."""
    return list(_ROWS[name](result))


def as_text(found: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    words = {True: "yes", False: "**no**", None: "-"}
    lines = ["| Measurement | Figure | Wanted | Reached | Least to most |", "|---|---|---|---|---|"]
    lines += [
        f"| {row.measurement} | {row.figure} | {row.wanted} | {words[row.reached]} | {row.spread} |" for row in found
    ]
    return "\n".join(lines)


def _at_least(measurement: str, ratio: dict[str, float], least: float | None) -> Row:
    reached = None if least is None else ratio["median"] >= least
    wanted = _REPORTED if least is None else f">= {least}"
    return Row(measurement, f"{ratio['median']:.2f} x", wanted, reached, _spread(ratio))


def _at_most(measurement: str, ratio: dict[str, float], most: float) -> Row:
    return Row(measurement, f"{ratio['median']:.2f} x", f"<= {most}", ratio["median"] <= most, _spread(ratio))


def _spread(values: dict[str, float], form: str = ".2f") -> str:
    return f"{values['least']:{form}} to {values['most']:{form}}"


def _peers(result: dict[str, Any]) -> Iterator[Row]:
    for row in result["rows"]:
        if "limit" in row:
            most = 0.7 if row["name"].endswith("API client") else 1.0
            yield _at_most(f"CPU: {row['name']}, to {row['limit']}", row["times_limit"], most)


def _auth(result: dict[str, Any]) -> Iterator[Row]:
    for server in result["servers"]:
        if "ratio" in server:
            name = server["name"]
            yield _at_least(f"CPU: {name}, to {server['limit']}", server["ratio"], _AUTH[name])


def _latency(result: dict[str, Any]) -> Iterator[Row]:
    yield from _percentiles(result, "behind nginx at 60 % of capacity, to nginx asks nginx")


def _slow_clients(result: dict[str, Any]) -> Iterator[Row]:
    yield from _percentiles(result, f"of signing in beside {result['slow']} slow clients, to alone")


def _percentiles(result: dict[str, Any], words: str) -> Iterator[Row]:
    """Yield a row for each percentile; the target of p99 is at most twice the baseline."""
    for row in result["rows"]:
        measurement = f"{row['name']} {words}"
        if row["name"] == "p99":
            yield _at_most(measurement, row["ratio"], 2.0)
        else:
            yield Row(measurement, f"{row['ratio']['median']:.2f} x", _REPORTED, None, _spread(row["ratio"]))


def _scale(result: dict[str, Any]) -> Iterator[Row]:
    for row in result["costs"]:
        if "ratio" in row:
            yield _at_most(f"CPU: {row['name']}, to little", row["ratio"], 1.3)
    rest, busy = result["latency_ms"]["at rest"], result["latency_ms"]["replaced"]
    times = busy["p99.9"] / rest["p99.9"]
    yield Row("p99.9 while a million is replaced, to at rest", f"{times:.2f} x", "<= 3", times <= 3, "one run")
    most = busy["most"]
    yield Row("longest answer while a million is replaced", f"{most:.0f} ms", "<= 250", most <= 250, "one run")
    for kind, took in result["enforced_ms"].items():
        spread = _spread(took, ".0f")
        yield Row(f"{kind} enforced after, worst", f"{took['most']:.0f} ms", "<= 1000", took["most"] <= 1000, spread)
    if "private_mib_before_and_after" not in result:
        return  # results from before memory and starts were measured several times
    more = result["private_mib"]["all of it"] - result["private_mib"]["little"]
    yield Row("private memory of a worker, over little", f"{more:.1f} MiB", "<= 40", more <= 40, "the larger of two")
    yield _cold(result["first_answer_ms"]["all of it"])


def _cold(took: dict[str, float]) -> Row:
    figure, spread = f"{took['median']:.0f} ms", _spread(took, ".0f")
    return Row("start to first right answer beside all of it", figure, "target 1000", took["median"] <= 1000, spread)


def _lists(result: dict[str, Any]) -> Iterator[Row]:
    for row in result["rows"]:
        yield _at_most(f"page of {row['name']}, {result['log_rows']:,} rows to 1,000", row["ratio"], 3.0)
    constant = all(row["statements_much"] <= row["statements_little"] for row in result["rows"])
    most = max(row["statements_much"] for row in result["rows"])
    yield Row("statements of a page of any list, most", str(most), "as with 1,000 rows", constant, "-")


def _shipping(result: dict[str, Any]) -> Iterator[Row]:
    for row in result["rows"]:
        if "ratio" in row:
            yield _at_least(f"rate of shipping to {row['name']}, to answering", row["ratio"], 1.2)


def _log_pages(result: dict[str, Any]) -> Iterator[Row]:
    bounded = [row for row in result["rows"] if row["bound_ms"]]
    for bound in sorted({row["bound_ms"] for row in bounded}):
        medians = [row["median_ms"] for row in bounded if row["bound_ms"] == bound]
        what = "figures" if bound == 50 else "a page"
        spread = f"{min(medians)} to {max(medians)}"
        measurement = f"access log of {result['log_rows']:,} rows: {what}, slowest median"
        yield Row(measurement, f"{max(medians)} ms", f"<= {bound}", max(medians) <= bound, spread)


def _console_pages(result: dict[str, Any]) -> Iterator[Row]:
    log_rows = f"{result['log_rows']:,} rows"
    dashboard, log = (
        [row["cpu_ms"] for row in result["rows"] if row["name"].startswith(kind)] for kind in ("dashboard", "live log")
    )
    measurement, most = f"console, {log_rows}: the dashboard, most CPU", max(dashboard)
    yield Row(measurement, f"{most} ms", "<= 150", most <= 150, f"{min(dashboard)} to {most}")
    measurement = f"console, {log_rows}: the first page of the live log, most CPU"
    yield Row(measurement, f"{max(log)} ms", _REPORTED, None, f"{min(log)} to {max(log)}")


def _import_list(result: dict[str, Any]) -> Iterator[Row]:
    for row in result["rows"]:
        measurement = f"import of {result['entries']:,} into {row['database']}, {row['import']}"
        yield Row(measurement, f"{row['seconds']} s", _REPORTED, None, "one run")


def _backtest(result: dict[str, Any]) -> Iterator[Row]:
    """Return the rate of the slowest draft, and its seconds against three minutes for a million rows on two cores."""
    rates = [row["rows_a_second"] for row in result["drafts"]]
    spread = f"{min(rates):,} to {max(rates):,}"
    yield Row(
        "backtest: rows a second of CPU, slowest draft", f"{min(rates):,}", ">= 3,000", min(rates) >= 3_000, spread
    )
    seconds = {"least": min(row["seconds"] for row in result["drafts"])}
    seconds["most"] = max(row["seconds"] for row in result["drafts"])
    most = 180 * result["log_rows"] / 1_000_000
    yield Row(
        f"plan over {result['log_rows']:,} rows, slowest draft",
        f"{seconds['most']:.0f} s",
        f"<= {most:.0f} s",
        seconds["most"] <= most,
        _spread(seconds, ".0f"),
    )


def _footprint(result: dict[str, Any]) -> Iterator[Row]:
    *processes, together = result["rows"]
    memory, cpu = together["pss_mib"], together["cpu_percent"]
    yield Row("processes at rest, one worker each", str(len(processes)), "<= 3", len(processes) <= 3, "one run")
    yield Row("memory of everything at rest (PSS)", f"{memory:.0f} MiB", "<= 160", memory <= 160, "one run")
    reached = cpu["median"] <= 0.5
    yield Row("CPU of everything at rest", f"{cpu['median']:.2f} % of a core", "<= 0.5", reached, _spread(cpu))


def _agent(result: dict[str, Any]) -> Iterator[Row]:
    for row in result["rows"]:
        cost, wanted, form = row["cost"], row["wanted"], f".{row['digits']}f"
        reached: bool | None = cost["median"] <= wanted
        name, rate = f"agent: {row['name']}", row.get("rate")
        if rate and rate["median"] < 0.9 * row["asked"]:
            name, reached = f"{name} asked for, {rate['median']:.0f} answered", None
        figure = f"{cost['median']:{form}} {row['unit']}"
        yield Row(name, figure, f"<= {wanted:g}", reached, _spread(cost, form))


_ROWS: dict[str, Callable[[dict[str, Any]], Iterator[Row]]] = {
    "auth": _auth,
    "peers": _peers,
    "footprint": _footprint,
    "agent": _agent,
    "latency": _latency,
    "slow_clients": _slow_clients,
    "scale": _scale,
    "lists": _lists,
    "shipping": _shipping,
    "log_pages": _log_pages,
    "console_pages": _console_pages,
    "import_list": _import_list,
    "backtest": _backtest,
}
