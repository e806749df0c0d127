"""Every ``gatewall COMMAND`` in the docs and in the messages of the code exists."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from gatewall.management import command_groups

BASE = Path(__file__).resolve().parents[2]
FOLDERS = (BASE / "docs", BASE / "docs" / "how-to", BASE / "docs" / "proxies", BASE / "docs" / "reference")
PAGES = sorted([BASE / "README.md", *(path for folder in FOLDERS for path in folder.glob("*.md"))])
PACKAGES = ("gatewall", "accounts", "policies", "audit", "licensing", "webhooks")
SOURCES = sorted(path for package in PACKAGES for kind in ("*.py", "*.html") for path in (BASE / package).rglob(kind))
NAMED = re.compile(r"(?:`|<code>)gatewall\s+([a-z][a-z0-9_-]*)")


def typed(page):
    """Return the lines of the page's sh blocks that begin with `gatewall COMMAND`."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith("gatewall ")]


LINES = [(page.name, line) for page in PAGES for line in typed(page)]


def test_documented_commands_are_found():
    assert {name for name, _ in LINES} >= {"README.md", "operations.md", "operator.md"}


@pytest.mark.parametrize(("page", "line"), LINES)
def test_a_documented_command_line_can_be_parsed(page, line):
    _, name, *arguments = shlex.split(re.split(r" (?:[|]|[|][|]|>|<) ", line)[0], comments=True)
    if name == "keys":
        assert arguments == []
        return
    command = name.replace("-", "_")

    parser = load_command_class(get_commands()[command], command).create_parser("gatewall", command)

    parser.parse_args(arguments)


def test_a_command_named_in_a_sentence_exists():
    named = {name for path in (*PAGES, *SOURCES) for name in NAMED.findall(path.read_text())}

    assert {name.replace("_", "-") for name in named} - command_groups.known() == set()


def test_no_page_uses_manage_py():
    told = {path.name for path in (*PAGES, *SOURCES) if re.search(r"manage\.py [a-z]", path.read_text())}

    assert told == {"testing.md"}  # it shows a stage of bin/test
