"""The rows of a backtest's window: each is read once, even if rows arrive or are deleted meanwhile."""

from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest

from audit.models import AccessLog
from audit.storage import ingest
from gatewall.whatif.backtest import window
from tests.support.records import a_record
from tests.support.spool_shipping import shipped, spooled

pytestmark = pytest.mark.django_db


def rows_of(parts):
    return list(chain.from_iterable(chain.from_iterable(window.pieces(part) for part in parts)))


@pytest.fixture
def small(monkeypatch):
    """Make slices and pieces small."""
    monkeypatch.setattr(window, "PIECE", 4)
    monkeypatch.setattr(window, "SLICE", 10)


@pytest.mark.parametrize("number", [9, 10, 11, 25, 30])
def test_a_window_is_cut_into_slices_without_gap_or_repetition(tmp_path, small, number):
    shipped(tmp_path / "spool", [a_record(each, at=1_770_000_000 + each // 3) for each in range(number)])
    start, end = (AccessLog.objects.order_by(name).values_list("at", flat=True)[0] for name in ("at", "-at"))

    parts = window.slices(start, end + timedelta(seconds=1), 1000)

    assert [row.decision_id for row in rows_of(parts)] == [
        str(row.decision_id) for row in AccessLog.objects.order_by("-at", "-decision_id")
    ]
    assert [part.number for part in parts] == [len(rows_of([part])) for part in parts]
    assert [part.number for part in parts[:-1]] == [10] * (len(parts) - 1)


def test_of_a_large_window_the_newest_rows_are_used(tmp_path, small):
    begin = 1_770_000_000
    shipped(tmp_path / "spool", [a_record(number, at=begin + number) for number in range(40)])

    parts = window.slices(datetime.fromtimestamp(begin, UTC), datetime.fromtimestamp(begin + 40, UTC), 25)

    assert [part.number for part in parts] == [10, 10, 5]
    assert [row.at - begin for row in rows_of(parts)] == [*range(39, 14, -1)]
    assert parts[-1].last.at == datetime.fromtimestamp(begin + 15, UTC)


def test_a_window_without_rows_has_no_slices():
    assert window.slices(datetime.fromtimestamp(0, UTC), datetime.fromtimestamp(1, UTC), 10) == []


@pytest.mark.parametrize("is_reversed", [False, True])
def test_an_added_or_deleted_row_belongs_to_one_slice_in_any_reading_order(tmp_path, small, is_reversed):
    begin = 1_770_000_000
    shipped(tmp_path / "spool", [a_record(number, at=begin + number) for number in range(30)])
    parts = window.slices(*(datetime.fromtimestamp(begin + each, UTC) for each in (0, 60)), 1000)

    # At the edges of slices: beside their last rows, which are deleted, at their very moment, and after the newest.
    late = [a_record(100 + at * 2, at=begin + at / 2) for at in (0, 1, 19, 20, 21, 39, 40, 41, 58, 60)]
    shipped(tmp_path / "other", late)
    gone = [datetime.fromtimestamp(begin + each, UTC) for each in (10, 20)]
    AccessLog.objects.filter(at__in=gone, decision_id__in=[a_record(each).decision_id for each in (10, 20)]).delete()

    each_slice = [rows_of([part]) for part in (reversed(parts) if is_reversed else parts)]

    rows = list(chain.from_iterable(reversed(each_slice) if is_reversed else each_slice))
    expected = AccessLog.objects.filter(at__lt=datetime.fromtimestamp(begin + 30, UTC)).order_by("-at", "-decision_id")
    assert [row.decision_id for row in rows] == [str(row.decision_id) for row in expected]
    assert len(rows) == 28 + 9  # later records than the newest row do not belong to the window


def test_rows_added_or_deleted_during_the_reading_are_read_at_most_once(tmp_path, monkeypatch):
    begin = 1_770_000_000
    spooled(tmp_path / "spool", [a_record(number, at=begin + number) for number in range(12)])
    ingest.ship(tmp_path / "spool")
    monkeypatch.setattr(window, "PIECE", 4)
    start, end = (datetime.fromtimestamp(begin + each, UTC) for each in (0, 12))
    (whole,) = window.slices(start, end, 1000)
    pieces = window.pieces(whole)

    read = [row.at - begin for row in next(pieces)]
    late = [a_record(20 + at, at=begin + at + 0.5) for at in (2, 10)]  # after and before the current position
    spooled(tmp_path / "other", late)
    ingest.ship(tmp_path / "other")
    AccessLog.objects.filter(at__lt=start + timedelta(seconds=1)).delete()  # retention
    read += [row.at - begin for row in chain.from_iterable(pieces)]

    assert read == [11, 10, 9, 8, 7, 6, 5, 4, 3, 2.5, 2, 1]


def test_a_window_has_its_first_moment_and_not_its_last(tmp_path):
    begin = 1_770_000_000
    spooled(tmp_path / "spool", [a_record(number, at=begin + number) for number in range(3)])
    ingest.ship(tmp_path / "spool")
    halves = [
        (datetime.fromtimestamp(begin + each, UTC), datetime.fromtimestamp(begin + each + 1, UTC)) for each in (0, 1)
    ]

    found = [[row.at - begin for row in rows_of(window.slices(*half, 10))] for half in halves]

    assert found == [[0], [1]]
