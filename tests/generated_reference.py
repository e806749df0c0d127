"""Pages of docs/reference that are made from the code: commands, reasons, events, error codes, metrics, environment.

What only a person can say about a row (when an event happens, what a variable means) is kept from the page, by the
row's first cell. A row for a new fact has it empty, which tests/docs/test_tables.py reports.
"""

import argparse
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from unittest import mock

from django.core.management import get_commands, load_command_class

from audit.event_kinds import EventKind
from gatewall.api.codes import CODES, PROBLEM_CODES
from gatewall.engine.model import Reason
from gatewall.health.metric_families import FAMILIES
from gatewall.kernel import env
from gatewall.kernel.env_reader import Reader
from gatewall.kernel.refusals import Refusal
from gatewall.management.command_groups import GROUPS

_OF_DJANGO = {
    *("--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
    *("--no-color", "--force-color", "--skip-checks"),
}

DOCS = Path(__file__).resolve().parents[1] / "docs"
WITHOUT_PREFIX = frozenset({"ROOT_PATH", "DATABASE_URL", "CACHE_URL", "GEOIP_DATABASE", "GEOIP_ASN_DATABASE"})
_FILE = "_FILE"


def _kept(page: str, header: str) -> dict[str, list[str]]:
    """Return the cells of the rows below a header, by what their first cell has in backquotes."""
    table = (DOCS / page).read_text().partition(header)[2].partition("\n\n")[0]
    rows = (re.split(r" \| ", line.strip("| ")) for line in table.splitlines() if line.startswith("| `"))
    return {cells[0].strip("`"): cells[1:] for cells in rows}


def _last(page: str, header: str, key: str) -> str:
    return _kept(page, header).get(key, [""])[-1]


EVENTS = "| Kind | Severity | When; what `detail` has |\n"
ERRORS = "| Code | Status | Meaning |\n"
METRICS = "| Metric | Type | Labels | What it says |\n"
ENVIRONMENT = "| Variable | Default | Meaning | Bad value |\n"
FILES = "| Instead of | |\n"
ADRS = "| ADR | Status | Date |\n"


def events() -> str:
    """Return a row for each kind of security event."""
    return "".join(
        f"| `{kind.value}` | {kind.severity.value} | {_last('reference/events.md', EVENTS, kind.value)} |\n"
        for kind in sorted(EventKind)
    )


def errors() -> str:
    """Return a row for each problem code, with the statuses of the exceptions that have it."""
    from rest_framework.exceptions import APIException  # noqa: PLC0415 - after django.setup()

    from gatewall.api.problems import status_of  # noqa: PLC0415 - the same

    found: dict[str, set[int]] = {code: {status} for status, code in CODES.items()}
    found["invalid-hand-off"] = {HTTPStatus.BAD_REQUEST.value}  # gatewall/portal/hand_off_views.py; never of the API
    for refusal in _below(Refusal):
        if (code := vars(refusal).get("code")) and code != "invalid-hand-off":
            found.setdefault(code, set()).add(status_of(refusal))
    for error in _below(APIException):
        if code := getattr(error, "problem_code", None):
            found.setdefault(code, set()).add(error.status_code)
    return "".join(
        f"| `{code}` | {', '.join(str(status) for status in sorted(found[code], reverse=True))} | "
        f"{_last('reference/errors.md', ERRORS, code)} |\n"
        for code in sorted(PROBLEM_CODES)
    )


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def metrics() -> str:
    """Return a row for each metric."""
    rows = ""
    for name, (family, words, labels) in FAMILIES.items():
        kind = family.__name__.removesuffix("MetricFamily").lower()
        shown = f"{name}_total" if kind == "counter" else name
        rows += f"| `{shown}` | {kind} | {', '.join(f'`{each}`' for each in labels)} | {words} |\n"
    return rows


def environment() -> str:
    """Return a row for each variable; defaults and bounds of numbers, switches and choices are those of the code."""
    kept, read = _kept("configuration.md", ENVIRONMENT), _read_variables()
    names = [name for name in kept if name in variables()] + sorted(variables() - kept.keys())
    rows = ""
    for name in names:
        default, meaning, bad = (kept.get(name) or ["", "", ""])[:3]
        if name in read:
            value, bounds = read[name]
            default = default if default.lower() == f"`{value.lower()}`" else f"`{value}`"
            bad = "; ".join([bounds, *bad.split("; ")[1:]])
        rows += f"| `{name}` | {default} | {meaning} | {bad} |\n"
    return rows


def variables() -> set[str]:
    """Return the names of all variables but those that name a file with the value of another."""
    return {name for name in env._NAMES if not name.endswith(_FILE)} | WITHOUT_PREFIX


def _read_variables() -> dict[str, tuple[str, str]]:
    """Return default and bad values of the numbers, switches and choices, as ``env.read`` asks for them."""
    asked: dict[str, tuple[str, str]] = {}

    class Recorder(Reader):
        def integer(self, name: str, *, default: int, minimum: int, maximum: int) -> int:
            asked[name] = str(default), f"not a whole number from {minimum} to {maximum}"
            return super().integer(name, default=default, minimum=minimum, maximum=maximum)

        def boolean(self, name: str, *, default: bool) -> bool:
            asked[name] = str(int(default)), "neither `0` nor `1`"
            return super().boolean(name, default=default)

        def choice(self, name: str, *, default: str, choices: tuple[str, ...]) -> str:
            asked[name] = default, "anything else"
            return super().choice(name, default=default, choices=choices)

    with mock.patch.object(env, "Reader", Recorder):
        env.read(_SECRETS, Path("/nonexistent"))
    return asked


_SECRETS = {
    "GATEWALL_SECRET_KEY": "q8WzL3vN0xTfJ6mYb1RkC9hUeS4dGpAi",
    "GATEWALL_JWT_KEYS": "a:Zk3v9Qm1Xr7Lt5Yw2Nc8Hb4Jd6Gf0Sp-UeAiOqRxVzM",
    "GATEWALL_DATA_KEYS": "b:Mz7Xq2Vt9Kp4Rw1Yn6Bc3Hd8Jf5Lg0Sa_TeUiOvQrWxN",
}


def files() -> str:
    """Return a row for each secret that can come from a file."""
    return "".join(f"| `{name}` | `{name}{_FILE}` |\n" for name in env._SECRETS)


def adrs() -> str:
    """Return a row for each ADR: title, status, date."""
    rows = ""
    for path in sorted((DOCS / "adr").glob("[0-9]*.md")):
        text = path.read_text()
        status, date = re.search(r"^Status: (\w+)", text, re.MULTILINE), re.search(r"Date: ([\d-]+)", text)
        title = text.partition("\n")[0].removeprefix("# ")
        rows += f"| [{title}]({path.name}) | {status[1] if status else ''} | {date[1] if date else ''} |\n"
    return rows


def reasons() -> str:
    """Return a section for each reason: what it means, what a refused visitor reads, what an operator can do."""
    return "".join(
        f"## `{reason.value}`\n\nStatus {reason.effect.status}. {_sentence(reason.words)}\n\n"
        + (f"* The visitor reads: {_sentence(reason.visitor_words)}\n" if reason.visitor_words else "")
        + (f"* If no exemption is offered: {_sentence(reason.advice)}\n" if reason.advice else "")
        + ("\n" if reason.visitor_words or reason.advice else "")
        for reason in Reason
    )


def _sentence(text: str) -> str:
    return f"{_cell(text).rstrip('.')}."


def commands() -> str:
    """Return a section for each group of commands, and in it the options of each of our commands."""
    return "\n".join(
        f"## {group}\n\n" + "\n".join(_command(name, line) for name, line in of_group.items() if _is_ours(name))
        for group, of_group in GROUPS.items()
        if any(map(_is_ours, of_group))
    )


def _is_ours(name: str) -> bool:
    return get_commands().get(name.replace("-", "_")) == "gatewall"


def _command(name: str, line: str) -> str:
    module = name.replace("-", "_")
    parser = load_command_class("gatewall", module).create_parser("gatewall", module)
    rows = "".join(_rows(parser, name))
    table = f"| Argument | What it means |\n|---|---|\n{rows}" if rows else "It takes no arguments.\n"
    return f"### `gatewall {name}`\n\n{line[:1].upper()}{line[1:]}.\n\n{table}"


def _rows(parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below, inner in action.choices.items():
                yield f"| **`{name} {below}`** | {_cell(_help_of(action, below))} |\n"
                yield from _rows(inner, f"{name} {below}")
        elif not _OF_DJANGO & set(action.option_strings):
            yield f"| {_name(action)} | {_cell(_with_values(action))} |\n"


def _help_of(action: "argparse._SubParsersAction[argparse.ArgumentParser]", below: str) -> str:
    helps = {each.dest: each.help for each in action._choices_actions}
    return helps.get(below) or ""


def _name(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if not action.option_strings:
        return f"`{metavar}`".replace("|", "\\|")
    value = "" if action.nargs == 0 else f" {metavar}"
    return f"`{action.option_strings[-1]}{value}`"


def _with_values(action: argparse.Action) -> str:
    values = f" One of {', '.join(f'`{each}`' for each in action.choices)}." if action.choices else ""
    words = (action.help or "") % {**vars(action), "prog": "gatewall"}
    return f"{words.rstrip('.')}.{values}" if values and words else f"{words}{values}".strip()


def _cell(text: str) -> str:
    words = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return words[:1].upper() + words[1:]
