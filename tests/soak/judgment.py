"""Detect growth in samples: compare the medians of the second and the last quarter. Pure."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

TOLERANCES: Mapping[str, float] = {
    "RSS of ": 8.0,
    "files": 48.0,
    "policy segments": 32.0,
    "policy segments, MiB": 4.0,
    "spool, MiB": 16.0,
    "WAL, MiB": 16.0,
}
"""Tolerated growth by prefix of the name; the longest prefix applies. Other figures may grow without bound.

The database grows by a row per answer until pruning. The first quarter is ignored: caches fill and modules are
imported. Spool files are deleted when full, at 8 MiB each, hence their tolerance.
"""


class Course(NamedTuple):
    """Course of a figure: first value, medians of the second and the last quarter, maximum."""

    first: float
    second: float
    last: float
    highest: float

    @property
    def growth(self) -> float:
        """Return the increase from the second to the last quarter."""
        return self.last - self.second


def course_of(values: Sequence[float]) -> Course:
    """Return the course of a series; with fewer than four values, each quarter has all of them."""
    quarter = len(values) // 4
    second, last = (values[quarter : 2 * quarter], values[-quarter:]) if quarter else (values, values)
    return Course(values[0], median(second), median(last), max(values))


def courses_of(samples: Sequence[Mapping[str, float]]) -> dict[str, Course]:
    """Return the course of each figure that all samples have."""
    names = [name for name in samples[0] if all(name in sample for sample in samples)]
    return {name: course_of([sample[name] for sample in samples]) for name in names}


def tolerance_of(name: str) -> float | None:
    """Return how much a figure may grow, None if without bound."""
    fitting = [begin for begin in TOLERANCES if name == begin or (begin.endswith(" ") and name.startswith(begin))]
    return TOLERANCES[max(fitting, key=len)] if fitting else None


def growing(courses: Mapping[str, Course]) -> list[str]:
    """Return messages about figures that grow more than tolerated."""
    return [
        f"{name} grew by {course.growth:.1f} from {course.second:.1f}, at most {tolerance:g} is tolerated"
        for name, course in courses.items()
        if (tolerance := tolerance_of(name)) is not None and course.growth > tolerance
    ]


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that this share of the values does not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
