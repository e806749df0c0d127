"""Detection of growth in a soak test."""

import pytest

from tests.soak.judgment import course_of, courses_of, growing, quantile, tolerance_of

MEMORY = "RSS of agent, MiB"


def growing_in(name, values):
    return growing(courses_of([{name: value} for value in values]))


def test_the_first_quarter_does_not_count():
    course = course_of([10, 20, 100, 100, 100, 100, 101, 101])

    assert course == (10, 100, 101, 101)
    assert course.growth == 1


def test_a_curve_that_levels_off_does_not_grow():
    assert growing_in(MEMORY, [*range(100, 160), *[160] * 180]) == []


@pytest.mark.parametrize(
    ("name", "a_sample"),
    [(MEMORY, 0.1), ("files", 0.5), ("policy segments", 0.5), ("WAL, MiB", 0.2), ("spool, MiB", 0.2)],
)
def test_a_slope_is_found(name, a_sample):
    (words,) = growing_in(name, [100 + a_sample * number for number in range(240)])

    assert words.startswith(f"{name} grew by ")


def test_one_high_sample_is_no_slope():
    assert growing_in(MEMORY, [*[100] * 239, 500]) == []


def test_the_database_may_grow():
    assert tolerance_of("database, MiB") is None
    assert growing_in("database, MiB", range(240)) == []


def test_the_bytes_of_segments_have_a_tolerance_of_their_own():
    assert tolerance_of("policy segments") != tolerance_of("policy segments, MiB")


def test_a_process_that_ended_has_no_course():
    assert list(courses_of([{"files": 1, MEMORY: 1}, {"files": 1}])) == ["files"]


def test_few_samples_are_judged_as_a_whole():
    assert course_of([1, 2, 3]) == (1, 2, 2, 3)


def test_quantiles():
    assert quantile(range(1, 101), 0.5) == 51
    assert quantile(range(1, 101), 0.99) == 100
    assert quantile([7], 0.99) == 7
    assert quantile([], 0.5) == 0
