"""Table of docs/proxies/spoofed-headers.md; `python -m tests.proxies.every.spoofing` runs the test and writes it."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gatewall.engine.identity_headers import KNOWN_HEADERS
from tests.proxies.every.asking import AT_ONCE, FORGED, PUBLIC, Front, lines_of, raw
from tests.proxies.every.kinds import DEPLOY, KINDS, UNTRUSTED
from tests.proxies.every.table import Gathering
from tests.support.processes import BASE

PAGE = BASE / "docs" / "proxies" / "spoofed-headers.md"
BEGIN, END = "<!-- table: python -m tests.proxies.every.spoofing -->\n", "<!-- end of the table -->\n"
FROM_THE_GATE = "set-by-the-gate"
ANSWER = dict.fromkeys(
    (*KNOWN_HEADERS, "X-Gatewall-Identity", "X-Gatewall-Subject-Kind", "X-Gatewall-Decision-Id"), FROM_THE_GATE
)
"""Headers of the stub's answer."""
NOTHING, GATE, PROXY, REFUSED, VISITOR = "-", "gate", "proxy", "400", "**VISITOR**"
Cells = Mapping[str, str]


def observed(front: Front) -> dict[str, str]:
    """Send every header, then also name each in ``Connection``; return what the site got under it, by name."""
    batches = [UNTRUSTED[first : first + AT_ONCE] for first in range(0, len(UNTRUSTED), AT_ONCE)]
    sent, named = (
        {name: got for names in batches for name, got in _sent(front, names, hop=hop)} for hop in (False, True)
    )
    return {name: got if named[name] == got else f"{got}, {named[name]}" for name, got in sent.items()}


def _sent(front: Front, names: tuple[str, ...], *, hop: bool) -> Iterator[tuple[str, str]]:
    """Yield what arrived under each name, sent twice; names that are refused together are sent one by one."""
    assert front.gate, "a stub stands for the gate"
    lines = [f"{name}: {FORGED}-{number}".encode() for number in (1, 2) for name in names]
    lines += [b"Connection: " + ", ".join(names).encode()] if hop else []
    before = len(front.site.requests)
    answer = raw(front.port, b"GET / HTTP/1.1", [*lines_of(front.port, {"Host": PUBLIC}), *lines])
    if answer.status == 400 and len(names) > 1:
        for name in names:
            yield from _sent(front, (name,), hop=hop)
        return
    assert (answer.status, len(front.site.requests) - before) in {(200, 1), (400, 0)}
    for name in names:
        values = front.site.last.get_all(name, []) if answer.status == 200 else [REFUSED]
        asked = front.gate.last.get_all(name, []) if answer.status == 200 else []
        yield name, VISITOR if any(FORGED in value for value in (*values, *asked)) else _source(values)


def _source(values: list[str]) -> str:
    """Return who set these values of a header."""
    if not any(values):
        return NOTHING
    return {FROM_THE_GATE: GATE, REFUSED: REFUSED}.get(", ".join(values), PROXY)


def rendered(by_kind: Mapping[str, Cells]) -> str:
    """Return a table for each section of deploy/untrusted-headers.txt in Markdown."""
    lines: list[str] = []
    for line in (DEPLOY / "untrusted-headers.txt").read_text(encoding="utf-8").partition("\n\n")[2].splitlines():
        if line.startswith("#"):
            lines += [f"### {line[2:]}", "", f"| Name | {' | '.join(KINDS)} |", "|---|" + "---|" * len(KINDS)]
        else:
            lines.append(f"| `{line}` | {' | '.join(by_kind[kind][line] for kind in KINDS)} |" if line else "")
    return "\n".join(lines) + "\n"


def written(page: Path = PAGE) -> dict[str, dict[str, str]]:
    """Return the cells of the page by proxy and name."""
    _, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    rows = [line.strip("| ").split(" | ") for line in rest.partition(END)[0].splitlines() if line.startswith("| `")]
    return {kind: {row[0].strip("`"): row[number] for row in rows} for number, kind in enumerate(KINDS, 1)}


def main() -> int:
    """Run the test and write what it observed into the page."""
    gathering = Gathering()
    pytest.main(["-q", str(Path(__file__).with_name("test_spoofing.py")), "-k", "every_name"], plugins=[gathering])
    told = [dict(report.user_properties) for report in gathering.reports if report.when == "call"]
    by_kind = {str(each["spoofed"]): dict(zip(UNTRUSTED, each["cells"], strict=True)) for each in told}  # type: ignore[call-overload]  # pytest's properties are objects
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + rendered(by_kind) + END + rest.partition(END)[2], encoding="utf-8")
    return int(any(VISITOR in cell for cells in by_kind.values() for cell in cells.values()))


if __name__ == "__main__":
    sys.exit(main())
