"""Parse published block lists: lines in, networks out. Pure; bounded memory for any list.

| Format | A line is |
|---|---|
| ``plain`` | an address or network, then ``#`` or ``;`` and a comment: FireHOL netsets, Spamhaus DROP text, Tor's bulk list and its exit-addresses (``ExitAddress IP date time``) |
| ``csv`` | a header row, then rows; columns ``ip`` (or ``cidr``, ``network``, ``address``), ``expires``, ``comment`` |
| ``ndjson`` | an object with these fields; Spamhaus' ``sblid`` is a comment, its metadata line is skipped |

Blank lines and those that begin with ``#`` or ``;`` are skipped in every format.
"""  # noqa: E501 - a table

import csv
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from ipaddress import collapse_addresses
from itertools import chain
from typing import Any, BinaryIO

from gatewall.engine.addresses import IPNetwork, parse_network
from gatewall.engine.messages import Message, Refused
from gatewall.engine.messages import gettext_noop as _

MAX_BYTES = 64 * 1024 * 1024
_MAX_LINE = 16 * 1024
_MAX_COMMENT = 500
_NETWORK, _EXPIRES, _COMMENT = ("ip", "cidr", "network", "address"), ("expires", "expires_at"), ("comment", "remark")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,49}", re.ASCII)
_SPAMHAUS_COMMENT = "sblid"
_TOR_ADDRESS, _TOR_OTHER = "ExitAddress ", ("ExitNode ", "Published ", "LastStatus ")
_Fields = tuple[str, Any, str]
"""Network, expiry and comment of a line, as written."""


class Format(StrEnum):
    """The format of a list; AUTO detects it from the first line."""

    AUTO = "auto"
    PLAIN = "plain"
    CSV = "csv"
    NDJSON = "ndjson"


class ListRefused(Refused):
    """The list as a whole cannot be used; the message names the line at fault, if any."""


class ListDoubtful(ListRefused):
    """The list is probably wrong; with ``ImportRules.force`` it is accepted."""


def source_named(name: str) -> str:
    """Return the blocklist source for the list of this name. Raises ListRefused."""
    if not _NAME.fullmatch(name):
        raise ListRefused(_("a name has letters, digits, '.', '_' and '-', at most 50"))
    return f"import:{name}"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is not a valid entry, and the reason."""

    line: int
    why: str

    @property
    def message(self) -> Message:
        return Message(_("line %(line)s: %(why)s"), line=self.line, why=self.why)


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry of a list; ``expires_at`` in whole seconds since the epoch."""

    line: int
    network: IPNetwork
    expires_at: int | None = None
    comment: str = ""


class Ranges:
    """A set of address ranges that answers overlap and containment queries."""

    def __init__(self, networks: Iterable[IPNetwork]) -> None:
        by_version: dict[int, list[Any]] = {4: [], 6: []}
        for network in networks:
            by_version[network.version].append(network)
        self._ranges = {
            version: [_ends(network) for network in collapse_addresses(some)] for version, some in by_version.items()
        }
        self._firsts = {version: [first for first, _ in pairs] for version, pairs in self._ranges.items()}

    def overlaps(self, network: IPNetwork) -> bool:
        """Return whether the network shares an address with one of the ranges."""
        first, last = _ends(network)
        before = bisect_right(self._firsts[network.version], last)
        return before > 0 and self._ranges[network.version][before - 1][1] >= first

    def cover(self, network: IPNetwork) -> bool:
        """Return whether one range contains the whole network."""
        first, last = _ends(network)
        before = bisect_right(self._firsts[network.version], first)
        return before > 0 and self._ranges[network.version][before - 1][1] >= last


def _ends(network: IPNetwork) -> tuple[int, int]:
    first = int(network.network_address)
    return first, first | ((1 << (network.max_prefixlen - network.prefixlen)) - 1)


class _Lines:
    """The lines of a file without blank lines and comments; counts line numbers."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._bytes = 0
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        while raw := self._file.readline(_MAX_LINE + 1):
            self.number += 1
            self._bytes += len(raw)
            if len(raw) > _MAX_LINE:
                raise self.refusal(_("longer than %(number)s bytes"), number=_MAX_LINE)
            if self._bytes > MAX_BYTES:
                raise ListRefused(_("the list has more than %(number)s MiB"), number=MAX_BYTES // 1024 // 1024)
            text = raw.decode("utf-8", "replace").removeprefix("\ufeff").strip()
            if text and text[0] not in "#;":
                yield text

    def refusal(self, why: str, **params: object) -> ListRefused:
        return ListRefused(BadLine(self.number, Message(why, **params)).message)


def read_list(file: BinaryIO, kind: Format = Format.AUTO) -> Iterator[Listed | BadLine]:
    """Yield the entries and invalid lines of a list. Raises ListRefused if the rest cannot be read."""
    lines = _Lines(file)
    texts = iter(lines)
    first = next(texts, None)
    if first is None:
        return
    if kind is Format.AUTO:
        kind = _format_of(first)
    read = {Format.PLAIN: _plain, Format.CSV: _csv, Format.NDJSON: _ndjson}[kind]
    yield from read(lines, chain([first], texts))


def _format_of(text: str) -> Format:
    if text.startswith("{"):
        return Format.NDJSON
    entry = text.partition("#")[0].partition(";")[0]
    return Format.CSV if "," in entry or entry.strip(' "').lower() in _NETWORK else Format.PLAIN


def _read(number: int, parse: Callable[[Any], _Fields], line: Any) -> Listed | BadLine:
    try:
        network, expires, comment = parse(line)
        expires_at = _moment(expires)
        printable = "".join(character if character.isprintable() else " " for character in comment[:_MAX_COMMENT])
        return Listed(number, parse_network(network), expires_at, printable.strip())
    except Refused as error:
        return BadLine(number, error.message)


def _plain(lines: _Lines, texts: Iterator[str]) -> Iterator[Listed | BadLine]:
    for text in texts:
        if not text.startswith(_TOR_OTHER):
            yield _read(lines.number, _parse_text, text)


def _parse_text(text: str) -> _Fields:
    if text.startswith(_TOR_ADDRESS):
        return text.split()[1], None, ""
    end = min((place for place in map(text.find, "#;") if place >= 0), default=len(text))
    return text[:end].strip(), None, text[end:].lstrip("#; ")


def _csv(lines: _Lines, texts: Iterator[str]) -> Iterator[Listed | BadLine]:
    rows = csv.reader(texts, strict=True, skipinitialspace=True)
    try:
        header = [name.strip().lower() for name in next(rows)]
        if not set(_NETWORK) & set(header):
            raise lines.refusal(
                _("a CSV list begins with a row of names, one of them %(names)s"), names=", ".join(_NETWORK)
            )
        if len(set(header)) != len(header):
            raise lines.refusal(_("a column is named twice"))
        for row in rows:
            yield _read(lines.number, _parse_row, (header, row))
    except csv.Error as error:
        raise lines.refusal(_("not CSV (%(error)s)"), error=error) from None


def _parse_row(row: tuple[list[str], list[str]]) -> _Fields:
    header, values = row
    if len(values) > len(header):
        raise Refused(_("more values than columns"))
    return _parse_fields(dict(zip(header, values, strict=False)))


def _ndjson(lines: _Lines, texts: Iterator[str]) -> Iterator[Listed | BadLine]:
    for text in texts:
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            yield BadLine(lines.number, "not JSON")
            continue
        if not isinstance(fields, dict):
            yield BadLine(lines.number, "not a JSON object")
        elif fields.get("type") != "metadata" or set(_NETWORK) & set(fields):
            yield _read(lines.number, _parse_fields, fields)


def _parse_fields(fields: Mapping[str, Any]) -> _Fields:
    network = _first_of(fields, _NETWORK)
    comment = _first_of(fields, (*_COMMENT, _SPAMHAUS_COMMENT)) or ""
    if not isinstance(network, str) or not isinstance(comment, str):
        raise Refused(_("address and comment are texts"))
    return network, _first_of(fields, _EXPIRES), comment


def _first_of(fields: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _moment(value: Any) -> int | None:
    """Return an expiry (RFC 3339 with offset, or seconds since the epoch) as seconds since the epoch."""
    if value is None:
        return None
    try:
        if isinstance(value, str) and not value.isdigit():
            moment = datetime.fromisoformat(value.strip())
            if moment.tzinfo is None:
                raise Refused(_("an expiry needs its offset, like 2026-01-31T12:00:00Z"))  # noqa: TRY301 - re-raised
            seconds = int(moment.timestamp())
        elif isinstance(value, str | int) and not isinstance(value, bool):
            seconds = int(value)
        else:
            raise ValueError  # noqa: TRY301 - handled below
        datetime.fromtimestamp(seconds, tz=UTC)  # raises if the database could not store it
    except Refused:
        raise
    except (ValueError, OverflowError, OSError):
        raise Refused(_("an expiry is a time like 2026-01-31T12:00:00Z, or seconds since 1970")) from None
    return seconds
