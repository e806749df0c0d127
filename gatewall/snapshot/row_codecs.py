"""JSON codecs of the rows of each kind of segment: the fields of the engine's classes; decoding is strict. Pure.

The names and the order of those fields are the format: changing them changes ``codec.SCHEMA``.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from ipaddress import IPv4Network, IPv6Network
from operator import attrgetter
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from gatewall.engine.access_rules.rules import PathPattern
from gatewall.engine.addresses import IPNetwork, parse_network
from gatewall.engine.snapshot import KINDS, Segment
from gatewall.engine.waf.exclusions import Exclusion

Read = Callable[[Any], Any]


def plain(value: Any) -> Any:
    """Return the JSON value of a field that ``json`` cannot encode. Raises TypeError."""
    match value:
        case frozenset():
            return sorted(value)
        case IPv4Network() | IPv6Network():
            return str(value)
        case Exclusion() | PathPattern():
            return astuple(value)
    raise TypeError


def list_of(value: Any) -> list[Any]:
    """Return a list. Raises TypeError."""
    if not isinstance(value, list):
        raise TypeError
    return value


def _only(*kinds: type) -> Read:
    def read(value: Any) -> Any:
        if type(value) not in kinds:
            raise TypeError
        return value

    return read


def _moment(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in {int, float} or not math.isfinite(value):
        raise TypeError
    return float(value)


def _all(read: Read, table: Callable[[Any], Any] = tuple) -> Read:
    return lambda values: table(map(read, list_of(values)))


_text = _only(str)
_READERS: dict[Any, Read] = {
    int: _only(int),
    bool: _only(bool),
    str: _text,
    str | None: _only(str, NoneType),
    float | None: _moment,
    int | None: _only(int, NoneType),
    frozenset[str]: _all(_text, frozenset),
    frozenset[int]: _all(_only(int), frozenset),
    IPNetwork: parse_network,
}
"""By the type of a field, the function that reads its JSON value. An enum class is its own reader."""


def _reader(kind: Any) -> Read:
    if get_origin(kind) is tuple:
        return _all(_reader(get_args(kind)[0]))
    read: Read = _READERS.get(kind, kind)
    return read


def _readers(row: type[Any]) -> dict[str, Read]:
    return {name: _reader(kind) for name, kind in get_type_hints(row).items()}


def _list_reader(row: type[Any]) -> Read:
    """Return a function that reads a row from the list of its fields."""
    readers = list(_readers(row).values())
    return lambda values: row(*[read(value) for read, value in zip(readers, list_of(values), strict=True)])


_READERS[Exclusion] = _list_reader(Exclusion)
_READERS[PathPattern] = _list_reader(PathPattern)


@dataclass(frozen=True, slots=True)
class RowCodec:
    """Codec of the rows of a kind of segment.

    ``json`` with ``plain`` encodes what ``encode`` returns. ``decode`` raises ValueError, KeyError, TypeError,
    AttributeError or OverflowError.
    """

    encode: Callable[[Any], Any]
    decode: Read


def _lists(row: type[Any]) -> RowCodec:
    """Return the codec whose rows are lists of their fields."""
    return RowCodec(attrgetter(*get_type_hints(row)), _list_reader(row))


def _objects(row: type[Any]) -> RowCodec:
    """Return the codec whose rows are objects of their fields, by name."""
    readers = _readers(row)
    return RowCodec(
        lambda value: {name: getattr(value, name) for name in readers},
        lambda values: row(**{name: read(values[name]) for name, read in readers.items()}),
    )


_OTHERS: Mapping[str, RowCodec] = {
    **{name: _objects(KINDS[name].row) for name in (Segment.SETTINGS, Segment.WAF_RULES, Segment.ACCESS_RULES)},
    Segment.REVOCATIONS: RowCodec(_text, _text),
}
CODECS: Mapping[str, RowCodec] = {name: _OTHERS.get(name) or _lists(kind.row) for name, kind in KINDS.items()}
"""Codecs by the kind of segment; rows are lists of their fields, with the exceptions above."""
