"""The table of checks in docs/proxies/README.md: `python -m tests.proxies.every.table` runs the suite and writes it."""

import importlib
import inspect
import re
import sys
from collections.abc import Iterable, Mapping

import pytest

from tests.proxies.every.kinds import KINDS
from tests.support.processes import BASE

MODULES = ("visitors", "told", "closed", "aliases", "history", "lines")
TITLES = {
    "visitors": "What a visitor gets, and what the site sees",
    "told": "What the gate receives",
    "closed": "Closed unless the gate answers 200",
    "aliases": "What a visitor cannot send: every header of `deploy/untrusted-headers.txt`",
    "history": "What broke gateways like this one: headers, cookies, connections",
    "lines": "What broke gateways like this one: paths, hosts, request lines",
}
PAGE = BASE / "docs" / "proxies" / "README.md"
BEGIN, END = "<!-- table: python -m tests.proxies.every.table -->\n", "<!-- end of the table -->\n"
EACH_PROXY = {"front", "stub", "kind"}
"""Parameters of tests that are a proxy."""
RAW = (
    "Always the same for both. Not as it came: Traefik resolves `//` and dot segments and spells percent-encoding its"
    " own way; Envoy Gateway resolves dot segments and `\\`, drops parameters of a dot segment, and spells"
    " percent-encoding its own way; Caddy percent-encodes what should be; raw bytes over 0x7F are 400 in HAProxy and"
    " both Envoys, `%zz` in nginx, Caddy and Traefik, `%00` in nginx and Envoy Gateway."
)
NOTES: Mapping[str, tuple[tuple[str, ...], str, str]] = {
    "test_attack_in_a_body_is_refused_before_the_site_sees_it": (
        ("nginx", "Caddy", "HAProxy", "Envoy Gateway"),
        "no",
        "The sample shows the gate no body: the request is judged without it.",
    ),
    "test_upload_arrives_whole_unless_the_waf_would_have_to_inspect_too_much_of_it": (
        ("Traefik", "Envoy"),
        "no",
        "A form over 64 KiB is refused; of another body the first 64 KiB are inspected ([waf.md](../waf.md#bodies)).",
    ),
    "test_site_gets_the_identity_and_the_visitor_gets_the_decision_id": (
        ("Traefik", "Envoy Gateway"),
        "partly",
        "The site gets the id; on a 200 the visitor does not.",
    ),
    "test_uri_arrives_raw_at_gate_and_site": (
        tuple(KINDS),
        "partly",
        RAW,
    ),
    "test_destination_of_a_copy_reaches_gate_and_site_unchanged": (
        ("Envoy Gateway",),
        "no",
        "The gate does not see where a COPY or MOVE goes: [what that means](../access-rules.md#paths).",
    ),
    "test_host_and_port_arrive_raw_at_gate_and_site": (
        ("nginx",),
        "partly",
        "In lower case, for the gate and the site.",
    ),
    "test_header_value_that_is_not_ascii_arrives_as_its_bytes": (
        ("Envoy", "Envoy Gateway"),
        "partly",
        "The gate sees `!` for bytes that are no UTF-8; the site sees the bytes.",
    ),
    "test_browser_is_asked_to_try_again_if_the_gate_cannot_decide": (
        ("Envoy", "Envoy Gateway"),
        "partly",
        "A line of text without the id, of Envoy Gateway the bare status: Envoy shows the visitor nothing of a 5xx.",
    ),
    "test_program_gets_503_and_no_page_if_the_gate_cannot_decide": (
        ("Envoy Gateway",),
        "partly",
        "Without `Retry-After`.",
    ),
    "test_identity_that_the_visitor_names_in_connection_arrives": (
        ("Envoy Gateway",),
        "partly",
        "It arrives; with a WebSocket so does the visitor's `Connection`, by which a site may drop it.",
    ),
    "test_untrusted_header_in_a_trailer_is_no_header_and_does_not_arrive": (
        ("HAProxy",),
        "partly",
        "A trailer arrives, as a trailer; with HAProxy 3.2 and newer the sample removes it.",
    ),
}
"""Checks with another result for some proxies, the mark in the table, and the reason; the tests assert it."""

Outcomes = Mapping[tuple[str, str], bool]


def checks() -> dict[str, list[str]]:
    """Return the names of the tests that run for every proxy, by the last word of their module."""
    found = {}
    for word in MODULES:
        module = importlib.import_module(f"tests.proxies.every.test_{word}")
        found[word] = [
            name
            for name, function in vars(module).items()
            if name.startswith("test_") and EACH_PROXY & set(inspect.signature(function).parameters)
        ]
    return found


def in_words(name: str) -> str:
    """Return the name of a test as words, with advisory ids in their usual spelling."""
    words = name.removeprefix("test_").replace("_", " ")
    words = re.sub(r"\bcve (\d{4}) (\d+)\b", r"CVE-\1-\2", words)
    words = re.sub(r"\bghsa (\w{4})\b", r"GHSA-\1", words)
    return words[0].upper() + words[1:]


def all_passed() -> dict[tuple[str, str], bool]:
    return {(name, kind): True for names in checks().values() for name in names for kind in KINDS}


def rendered(outcomes: Outcomes) -> str:
    """Return the table in Markdown."""
    lines, notes = [], []
    for word, names in checks().items():
        lines += ["", f"| {TITLES[word]} | {' | '.join(KINDS)} |", "|---|" + "---|" * len(KINDS)]
        for name in names:
            noted, mark, text = NOTES.get(name, ((), "yes", ""))
            if noted:
                notes.append(text)
            marks = {kind: f"{mark} ({len(notes)})" for kind in noted}
            cells = [cell(outcomes.get((name, kind)), marks.get(kind, "yes")) for kind in KINDS]
            lines.append(f"| {in_words(name)} | {' | '.join(cells)} |")
    lines += ["", *(f"{number}. {text}" for number, text in enumerate(notes, 1))]
    return "\n".join(lines).strip("\n") + "\n"


def cell(passed: bool | None, mark: str) -> str:
    return {None: "-", True: mark, False: "**FAILED**"}[passed]


def gathered(reports: Iterable[pytest.TestReport]) -> dict[tuple[str, str], bool]:
    """Return the result of each check with each proxy: true if all its cases passed."""
    found: dict[tuple[str, str], bool] = {}
    for report in reports:
        told = dict(report.user_properties)
        if "proxy" in told and (report.when == "call" or report.failed):
            key = str(told["check"]), str(told["proxy"])
            found[key] = found.get(key, True) and report.passed
    return found


class Gathering:
    """A plugin of pytest that keeps every report."""

    def __init__(self) -> None:
        self.reports: list[pytest.TestReport] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.append(report)


def main() -> int:
    """Run the suite, print the table, and write it into the page if everything passed."""
    gathering = Gathering()
    suite = BASE / "tests" / "proxies" / "every"
    # test_table.py compares the page with the checks, so it fails until the page is written.
    code = pytest.main(["-q", str(suite), f"--ignore={suite / 'test_table.py'}"], plugins=[gathering])
    outcomes = gathered(gathering.reports)
    sys.stdout.write(rendered(outcomes))
    if code == 0:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(before + BEGIN + rendered(outcomes) + END + rest.partition(END)[2], encoding="utf-8")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
