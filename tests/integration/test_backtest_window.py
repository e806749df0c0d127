"""The rows of a backtest's window: each once, whatever arrives or is deleted meanwhile."""

from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest

from audit.models import AccessLog
from audit.storage import ingest
from gatewall.whatif.backtest import window
from tests.support.records import a_record
from tests.support.spool_shipping import spooled

pytestmark = pytest.mark.django_db


def test_rows_are_read_in_pieces_without_gap_or_repetition(tmp_path, monkeypatch):
    spooled(tmp_path / "spool", [a_record(number, at=1_770_000_000 + number // 3) for number in range(25)])
    ingest.ship(tmp_path / "spool")
    monkeypatch.setattr(window, "PIECE", 4)
    start, end = (AccessLog.objects.order_by(name).values_list("at", flat=True)[0] for name in ("at", "-at"))

    rows = list(chain.from_iterable(window.pieces(start, end + timedelta(seconds=1), 1000)))

    assert [row.decision_id for row in rows] == [
        str(row.decision_id) for row in AccessLog.objects.order_by("-at", "-decision_id")
    ]
    assert sum(map(len, window.pieces(start, end, 10))) == 10


def test_rows_that_come_and_go_while_it_reads_are_read_once_or_not_at_all(tmp_path, monkeypatch):
    begin = 1_770_000_000
    spooled(tmp_path / "spool", [a_record(number, at=begin + number) for number in range(12)])
    ingest.ship(tmp_path / "spool")
    monkeypatch.setattr(window, "PIECE", 4)
    start, end = (datetime.fromtimestamp(begin + each, UTC) for each in (0, 12))
    pieces = window.pieces(start, end, 1000)

    read = [row.at - begin for row in next(pieces)]
    late = [a_record(20 + at, at=begin + at + 0.5) for at in (2, 10)]  # behind and before where it has come
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

    found = [[row.at - begin for row in chain.from_iterable(window.pieces(*half, 10))] for half in halves]

    assert found == [[0], [1]]
    assert [window.number_of(*half, 10) for half in halves] == [1, 1]
