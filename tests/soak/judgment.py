"""Whether what was sampled grows: the median of the last quarter against that of the second one. Pure."""

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
"""How much more there may be, by what the name begins with; the longest counts. What is not here may grow.

The database may: it has a row for each answer until they are pruned. The first quarter is left out, in which caches
fill and modules are imported. Files of the spool go when they are full, at 8 MiB each, hence their tolerance.
"""


class Course(NamedTuple):
    """How a figure went: its first value, the medians of the second and the last quarter, the highest value."""

    first: float
    second: float
    last: float
    highest: float

    @property
    def growth(self) -> float:
        """What was added between the second and the last quarter."""
        return self.last - self.second


def course_of(values: Sequence[float]) -> Course:
    """Return the course of a series; of fewer than four values, the quarters are all of them."""
    quarter = len(values) // 4
    second, last = (values[quarter : 2 * quarter], values[-quarter:]) if quarter else (values, values)
    return Course(values[0], median(second), median(last), max(values))


def courses_of(samples: Sequence[Mapping[str, float]]) -> dict[str, Course]:
    """Return the course of each figure that every sample has."""
    names = [name for name in samples[0] if all(name in sample for sample in samples)]
    return {name: course_of([sample[name] for sample in samples]) for name in names}


def tolerance_of(name: str) -> float | None:
    """Return how much a figure may grow, None if without bound."""
    fitting = [begin for begin in TOLERANCES if name == begin or (begin.endswith(" ") and name.startswith(begin))]
    return TOLERANCES[max(fitting, key=len)] if fitting else None


def growing(courses: Mapping[str, Course]) -> list[str]:
    """Say what grows more than it may; nothing if all is well."""
    return [
        f"{name} grew by {course.growth:.1f} from {course.second:.1f}, at most {tolerance:g} is tolerated"
        for name, course in courses.items()
        if (tolerance := tolerance_of(name)) is not None and course.growth > tolerance
    ]


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that so large a share of the values does not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
