"""Pages of docs/reference that are made from the code: commands with their options, and the reasons of decisions."""

import argparse
from collections.abc import Iterator

from django.core.management import get_commands, load_command_class

from gatewall.engine.model import Reason
from gatewall.management.command_groups import GROUPS

_OF_DJANGO = {
    *("--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
    *("--no-color", "--force-color", "--skip-checks"),
}


def reasons() -> str:
    """Return a row for each reason: what it means, what a refused visitor reads, what an operator can do."""
    return "".join(
        f"| `{reason.value}` | {reason.effect.status} | {_cell(reason.words)} | {_cell(reason.visitor_words)} | "
        f"{_cell(reason.advice)} |\n"
        for reason in Reason
    )


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
