"""Footprint of ``gatewall up`` at rest: ``python -m bench.footprint [--rounds N] [--seconds N] [--write]``.

One worker of each plane, SQLite, all built-in rules, nobody asks. For each process: memory (PSS), and CPU time of each
round in percent of a core. Measured after all patterns are compiled.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import report
from bench.cpu import process_tree, proportional_mebibytes, scheduled_alone
from bench.servers import until_compiled
from bench.site import installation_environment, run_child
from gatewall.install.ports import free_port
from gatewall.install.readiness import answers

_BASE = Path(__file__).resolve().parent.parent
_START_SECONDS, _STOP_SECONDS, _SETTLE_SECONDS = 300, 60, 30
_ROLES = {"gatewall.wsgi": "control plane and agent", "gatewall.data_plane": "data plane"}
_SUPERVISOR = "supervisor"


def main() -> None:
    """Measure, print, and with --write update docs/performance.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60)
    report.add_outputs(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _up(Path(folder)) as pid:
        rounds = [_percent(pid, options.seconds) for _ in range(options.rounds)]
        memory = {role: proportional_mebibytes(each) for each, role in _roles(pid).items()}
    result = summary(rounds, memory, options.seconds)
    report.deliver("footprint", result, as_text(result), options)


def summary(rounds: list[dict[str, float]], memory: dict[str, float], seconds: float) -> dict[str, Any]:
    """Return memory and CPU time of each process, and of all together."""
    rows = [
        {"name": name, "pss_mib": round(memory[name], 1), "cpu_percent": report.spread([each[name] for each in rounds])}
        for name in memory
    ]
    together = {
        "name": "together",
        "pss_mib": round(sum(memory.values()), 1),
        "cpu_percent": report.spread([sum(each.values()) for each in rounds]),
    }
    return {**report.circumstances(), "rounds": len(rounds), "seconds": seconds, "rows": [*rows, together]}


def as_text(result: dict[str, Any]) -> str:
    """Return the result as a Markdown table."""
    lines = [
        f"{result['rounds']} rounds of {result['seconds']:.0f} s without a request, {report.machine(result)}.",
        "",
        "| Process | PSS, MiB | CPU, percent of a core (least to most) |",
        "|---|---|---|",
    ]
    for row in result["rows"]:
        cpu = row["cpu_percent"]
        spread = f"{cpu['median']:.2f} ({cpu['least']:.2f} to {cpu['most']:.2f})"
        lines.append(f"| {row['name']} | {row['pss_mib']:.0f} | {spread} |")
    return "\n".join(lines)


@contextmanager
def _up(folder: Path) -> Iterator[int]:
    """Run ``gatewall up`` until its patterns are compiled; yield the supervisor's process id."""
    control, auth = free_port(), free_port()
    environment = installation_environment(folder / "var") | {
        "GATEWALL_WORKERS": "1",
        "GATEWALL_PORT": str(control),
        "GATEWALL_AUTH_PORT": str(auth),
        "GATEWALL_ADMIN_PASSWORD": "a password for the bench",
    }
    run_child(environment, "-m", "gatewall.credentials.keyfiles")
    process = subprocess.Popen(
        [sys.executable, "manage.py", "up", "--no-demo"],
        cwd=_BASE,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not answers(f"http://127.0.0.1:{auth}/wall/health/ready"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"gatewall up does not answer (exit code {process.poll()})")
            time.sleep(0.5)
        for port in (auth, control):
            until_compiled(port)
        time.sleep(_SETTLE_SECONDS)
        yield process.pid
    finally:
        process.terminate()
        process.wait(_STOP_SECONDS)


def _roles(pid: int) -> dict[int, str]:
    """Return the role of each process: by its application, else the supervisor or a process of a plane."""
    found = {}
    for each in process_tree(pid):
        command = Path(f"/proc/{each}/cmdline").read_bytes().decode(errors="replace").split("\0")
        roles = [role for name, role in _ROLES.items() if any(word.startswith(name) for word in command)]
        found[each] = _SUPERVISOR if each == pid else roles[0] if roles else command[-2]
    return found


def _percent(pid: int, seconds: float) -> dict[str, float]:
    """Return the CPU time that each process takes in this many seconds, in percent of a core."""
    roles = _roles(pid)
    before = {each: scheduled_alone(each)[0] for each in roles}
    time.sleep(seconds)
    return {role: 100 * (scheduled_alone(each)[0] - before[each]) / seconds for each, role in roles.items()}


if __name__ == "__main__":
    os.umask(0o077)
    main()
