"""World map of the dashboard: the outline of each country, shaded by its number of requests.

``world.tsv`` has a path of SVG for each ISO 3166-1 code, made from the countries of Natural Earth (1:110m, public
domain, naturalearthdata.com) as packed in world-atlas 2.0.2, in the Equal Earth projection, without Antarctica.
Countries that are too small for that scale have no outline: the table beside the map names them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log
from pathlib import Path

WIDTH, HEIGHT = 900, 440
SHADES = 4
_LINES = Path(__file__).with_name("world.tsv").read_text(encoding="ascii").splitlines()
OUTLINES: Mapping[str, str] = dict(line.split("\t") for line in _LINES)


@dataclass(frozen=True, slots=True)
class Shape:
    """A country with requests; ``shade`` is from 1 to ``SHADES``."""

    code: str
    outline: str
    shade: int
    count: int


@dataclass(frozen=True, slots=True)
class World:
    """The countries with requests, and one outline of all others."""

    shapes: list[Shape]
    others: str
    width: int = WIDTH
    height: int = HEIGHT


def world(counts: Mapping[str, int]) -> World:
    """Return the map for these numbers of requests by country code."""
    most = max(counts.values(), default=0)
    shown = {code: number for code, number in counts.items() if number > 0 and code in OUTLINES}
    shapes = [Shape(code, OUTLINES[code], _shade(number, most), number) for code, number in sorted(shown.items())]
    return World(shapes, "".join(outline for code, outline in OUTLINES.items() if code not in shown))


def _shade(number: int, most: int) -> int:
    """Return the shade on a logarithmic scale, so that one busy country does not hide the others."""
    return max(1, ceil(SHADES * log(number + 1) / log(most + 1)))
