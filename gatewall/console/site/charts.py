"""Layout of charts, which a template renders. Pure: integers and texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count, zip_longest

WIDTH, HEIGHT = 1040, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 8, 12, 28
_ROOM = WIDTH - _LEFT - _RIGHT
STRIP_HEIGHT = 64
_MOST_LINES = 4
_LEAST_SPACE = 84
"""Minimum distance of labels of the x axis, in units of the chart."""


@dataclass(frozen=True, slots=True)
class Series:
    """One value per bar; ``kind`` is the CSS class."""

    kind: str
    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class Box:
    """One value: a segment of a bar."""

    kind: str
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Column:
    """One bar: its stacked segments."""

    x: int
    width: int
    label: str
    boxes: list[Box]
    moment: str = ""
    """The time that the label names, in ISO 8601: a script shows it in the reader's zone."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A label of an axis."""

    at: int
    text: str
    moment: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Stacked bars of several series, and a line; within ``width`` and ``height``."""

    columns: list[Column]
    line: str
    rows: list[Mark]
    marks: list[Mark]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    bottom: int = HEIGHT - _BOTTOM


def steps(most: int) -> list[int]:
    """Return the values of the grid lines: at most five, round, the last at least ``most``."""
    step = next(
        factor * 10**power for power in count() for factor in (1, 2, 5) if factor * 10**power * _MOST_LINES >= most
    )
    return [step * number for number in range(max(1, -(-most // step)) + 1)]


def trend(labels: Sequence[str], series: Sequence[Series], before: Sequence[int], moments: Sequence[str] = ()) -> Chart:
    """Return a chart of one bar per label, and a line through the values of the previous window.

    ``labels`` name the bars, which begin at ``moments``; as many labels as fit are drawn on the axis.
    """
    values = steps(max([0, *_totals(series), *before[: len(labels)]]))
    ground = HEIGHT - _BOTTOM
    scale = (ground - _TOP) / values[-1]
    columns = _columns(labels, series, scale, range(_LEFT, WIDTH - _RIGHT), ground, moments)
    middles = [column.x + column.width // 2 for column in columns]
    line = " ".join(f"{x},{ground - round(value * scale)}" for x, value in zip(middles, before, strict=False))
    rows = [Mark(ground - round(value * scale), f"{value:,}") for value in values]
    return Chart(columns, line, rows, _marks(columns, middles))


def strip(labels: Sequence[str], series: Sequence[Series]) -> Chart:
    """Return low bars over the whole width, without axes."""
    scale = (STRIP_HEIGHT - 2) / max([1, *_totals(series)])
    columns = _columns(labels, series, scale, range(WIDTH), STRIP_HEIGHT)
    return Chart(columns, "", [], [], height=STRIP_HEIGHT, left=0, right=WIDTH, bottom=STRIP_HEIGHT)


def share(part: int, most: int) -> int:
    """Return the length of a bar in percent of the longest, at least 1 unless it is zero."""
    return max(1, round(100 * part / most)) if part > 0 and most > 0 else 0


def _totals(series: Sequence[Series]) -> list[int]:
    return [sum(values) for values in zip(*(each.values for each in series), strict=True)]


def _columns(
    labels: Sequence[str],
    series: Sequence[Series],
    scale: float,
    room: range,
    ground: int,
    moments: Sequence[str] = (),
) -> list[Column]:
    edges = [room.start + round(len(room) * each / max(1, len(labels))) for each in range(len(labels) + 1)]
    return [
        Column(
            edges[number],
            max(1, edges[number + 1] - edges[number] - 2),
            label,
            _boxes(series, number, scale, ground),
            moment,
        )
        for number, (label, moment) in enumerate(zip_longest(labels, moments, fillvalue=""))
    ]


def _boxes(series: Sequence[Series], number: int, scale: float, ground: int) -> list[Box]:
    boxes, below = [], 0
    for each in series:
        value = each.values[number]
        bottom, top = ground - round(below * scale), ground - round((below + value) * scale)
        below += value
        if value:
            boxes.append(Box(each.kind, min(top, bottom - 1), max(1, bottom - top)))
    return boxes


def _marks(columns: Sequence[Column], middles: Sequence[int]) -> list[Mark]:
    every = max(1, -(-_LEAST_SPACE * len(columns) // _ROOM))
    shown = range(every // 2, len(columns), every)
    return [Mark(middles[number], columns[number].label, columns[number].moment) for number in shown]
