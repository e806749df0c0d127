"""Charts: all boxes are inside, sums are right, and the numbers of lines and labels are bounded."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.console.site.charts import HEIGHT, STRIP_HEIGHT, WIDTH, Series, share, steps, strip, trend


@pytest.mark.parametrize(
    ("most", "values"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (3, [0, 1, 2, 3]),
        (4, [0, 1, 2, 3, 4]),
        (5, [0, 2, 4, 6]),
        (9, [0, 5, 10]),
        (100, [0, 50, 100]),
        (101, [0, 50, 100, 150]),
        (1234, [0, 500, 1000, 1500]),
    ],
)
def test_lines_are_at_round_values(most, values):
    assert steps(most) == values


@given(st.integers(min_value=0, max_value=10**15))
def test_lines_are_few_and_reach_the_top(most):
    values = steps(most)
    assert 2 <= len(values) <= 5
    assert values[-1] >= most
    assert most <= 4 or values[-2] < most


COUNTS = st.lists(st.integers(min_value=0, max_value=10**9), min_size=0, max_size=100)


@given(COUNTS, COUNTS, COUNTS)
def test_every_box_is_inside_the_chart(allowed, denied, before):
    number = min(len(allowed), len(denied))
    chart = trend(
        [f"{each:02}:00" for each in range(number)],
        [Series("allow", allowed[:number]), Series("deny", denied[:number])],
        before,
    )

    assert len(chart.columns) == number
    for column in chart.columns:
        assert column.x >= chart.left
        assert column.width >= 1
        assert column.x + column.width <= WIDTH
        for box in column.boxes:
            assert box.height >= 1
            assert box.y >= 0
            assert box.y + box.height <= chart.bottom
    points = [tuple(map(int, point.split(","))) for point in chart.line.split()]
    assert len(points) == min(number, len(before))
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in points)


def test_pieces_of_a_column_are_stacked():
    chart = trend(["a"], [Series("allow", [50]), Series("challenge", [0]), Series("deny", [50])], [])
    allow, deny = chart.columns[0].boxes

    assert (allow.kind, deny.kind) == ("allow", "deny")
    assert allow.y + allow.height == chart.bottom
    assert deny.y + deny.height == allow.y
    assert allow.height == deny.height
    assert deny.y == 12  # the margin at the top


def test_counts_above_zero_are_visible():
    chart = trend(["a", "b"], [Series("allow", [10**6, 1])], [])
    assert [box.height for box in chart.columns[1].boxes] == [1]
    assert [share(0, 10), share(1, 10**6), share(10, 10), share(0, 0)] == [0, 1, 100, 0]


def test_labels_do_not_overlap():
    chart = trend([f"{each:02}:00" for each in range(60)], [Series("allow", [1] * 60)], [])
    middles = [mark.at for mark in chart.marks]
    assert len(middles) >= 4
    assert min(later - first for first, later in pairwise(middles)) >= 80
    assert all(30 <= middle <= WIDTH - 30 for middle in middles)


def test_series_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        trend(["a", "b"], [Series("allow", [1, 2]), Series("deny", [1])], [])


@given(COUNTS, COUNTS)
def test_every_bar_is_inside_the_strip(allowed, denied):
    number = min(len(allowed), len(denied))
    chart = strip(["x"] * number, [Series("allow", allowed[:number]), Series("deny", denied[:number])])

    assert len(chart.columns) == number
    assert all(0 <= column.x < column.x + column.width <= WIDTH for column in chart.columns)
    for column in chart.columns:
        assert all(box.y >= -2 and box.y + box.height <= STRIP_HEIGHT for box in column.boxes)


def test_bars_and_labels_carry_their_moments():
    moments = [f"2026-01-31T{hour:02}:00:00Z" for hour in range(24)]
    chart = trend([each[11:16] for each in moments], [Series("allow", [1] * 24)], [], moments)

    assert [column.moment for column in chart.columns] == moments
    assert {mark.moment[11:16] for mark in chart.marks} == {mark.text for mark in chart.marks} != set()
