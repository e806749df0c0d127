"""Run the examples of a Markdown file: each ``$`` line in order, compared with the output shown.

In output ``…`` matches anything, ``<NAME>`` captures a value for later use as ``$NAME``. Headers and fields that are
not shown are ignored. A list is shown completely, or its head and ``…``.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

ANY = "…"
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Z_]+)=(.+)")
_NAME = re.compile(r"<([A-Z_]+)>")


class ExampleError(AssertionError):
    """The output differs from the file, or an example cannot be run."""


@dataclass(frozen=True)
class Example:
    """A command and the output shown in the file."""

    line: int
    command: str
    shown: str


def examples(text: str) -> Iterator[Example]:
    """Yield the commands of all fenced blocks in order. Raises ExampleError for a block that cannot be run."""
    blocks = list(_FENCE.finditer(text))
    if len(re.findall(r"```|~~~", text)) != 2 * len(blocks):
        raise ExampleError("a fence that is not at the beginning of a line, or without its end")
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 2
        if block[1] != "console" or not block[2].startswith("$ "):
            raise ExampleError(f"line {line}: a block that nobody can run")
        for part in re.split(r"^(?=\$ )", block[2], flags=re.MULTILINE)[1:]:
            command = re.match(r"\$ ((?:.*\\\n)*.*)\n", part)
            assert command is not None
            yield Example(line, command[1], part[command.end() :])
            line += part.count("\n")


class Shell:
    """Run examples in order; ``known`` are variables, ``before`` may change them before each example."""

    def __init__(self, known: dict[str, str], before: Callable[[str, dict[str, str]], None]) -> None:
        self.known = known
        self._before = before

    def run(self, example: Example) -> None:
        """Run one example. Raises ExampleError if the output differs."""
        try:
            self._run(example)
        except ExampleError as error:
            raise ExampleError(f"line {example.line}: {example.command}\n{error}") from None

    def _run(self, example: Example) -> None:
        self._before(example.command, self.known)
        if assignment := _ASSIGNMENT.fullmatch(example.command):
            self.known[assignment[1]] = self._output(f"printf %s {assignment[2]}")
            return
        _expect(example.command.startswith("curl -i ") and bool(example.shown.strip()), "no curl -i with its answer")
        answer = self._output(example.command)
        head, _, body = answer.partition("\r\n\r\n")
        shown_head, _, shown_body = example.shown.strip().partition("\n\n")
        try:
            self._compare_heads(head.split("\r\n"), shown_head.splitlines())
            self._compare_bodies(body, shown_body)
        except ExampleError as error:
            raise ExampleError(f"{error}\nthe answer was:\n{answer}") from None

    def _output(self, command: str) -> str:
        run = subprocess.run(
            ["bash", "-euc", command],
            env={"PATH": "/usr/bin:/bin:/usr/local/bin", **self.known},
            capture_output=True,
            timeout=60,
            check=False,
        )
        _expect(run.returncode == 0, f"exit code {run.returncode}: {run.stderr.decode()}")
        return run.stdout.decode()

    def _compare_heads(self, found: list[str], shown: list[str]) -> None:
        _expect(found[0] == shown[0], f"not {shown[0]}")
        headers = [line.partition(": ")[::2] for line in found[1:]]
        for line in shown[1:]:
            name, _, value = line.partition(": ")
            values = [text for each, text in headers if each.lower() == name.lower()]
            _expect(any(self._is(text, value) for text in values), f"no header {line}")

    def _compare_bodies(self, found: str, shown: str) -> None:
        if not shown:
            return
        for name in re.findall(r"\$([A-Z_]+)", shown):
            shown = shown.replace(f"${name}", self.known[name])
        shown = re.sub(rf"(?<=[\[ ])({ANY}|<[A-Z_]+>)(?=[,\]}}\s])", r'"\1"', shown)
        try:
            expected, actual = json.loads(shown), json.loads(found)
        except json.JSONDecodeError as error:
            raise ExampleError(f"no JSON: {error}") from None
        self._compare(actual, expected, "the body")

    def _compare(self, found: Any, shown: object, where: str) -> None:
        if isinstance(shown, dict):
            _expect(isinstance(found, dict) and set(shown) <= set(found), f"{where} lacks {set(shown)}: {found}")
            for name, value in shown.items():
                self._compare(found[name], value, f"{where}.{name}")
        elif isinstance(shown, list):
            is_head = shown[-1:] == [ANY]
            head = shown[:-1] if is_head else shown
            _expect(isinstance(found, list), f"{where} is no list")
            _expect(len(found) > len(head) if is_head else len(found) == len(head), f"{where} has {len(found)}")
            for number, value in enumerate(head):
                self._compare(found[number], value, f"{where}[{number}]")
        elif isinstance(shown, str) and (ANY in shown or _NAME.fullmatch(shown)):
            _expect(found is not None, f"{where} is null")
            _expect(self._is(str(found), shown), f"{where} is {found!r}, not {shown!r}")
        else:
            _expect(found == shown and type(found) is type(shown), f"{where} is {found!r}, not {shown!r}")

    def _is(self, found: str, shown: str) -> bool:
        """Return whether a text matches one with ``…``; captures named values."""
        if name := _NAME.fullmatch(shown):
            self.known[name[1]] = found
            return bool(found)
        pattern = ".+".join(re.escape(part) for part in shown.split(ANY))
        return re.fullmatch(pattern, found, re.DOTALL) is not None


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ExampleError(otherwise)
