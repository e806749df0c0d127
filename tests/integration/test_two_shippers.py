"""Two agents that ship one spool at once, as after ``run/`` was removed: records and gaps are stored once."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import connection

from audit.models import AccessLog, LogGap
from audit.spool.segments import segment_files
from audit.storage import ingest
from tests.support.spool_files import losing, records
from tests.support.spool_shipping import answers_counted, spooled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spool"


def shipped_by_two(folder, monkeypatch, step):
    """Ship with two shippers: one pauses in its transaction after this step until the other reaches the step."""
    done, inside, second = getattr(ingest, step), Event(), Event()

    def slow(*arguments):
        result = done(*arguments)
        if not inside.is_set():
            inside.set()
            second.wait(timeout=10)
            time.sleep(0.5)  # the other one waits for this transaction by now, or is done
        return result

    def ship():
        try:
            return ingest.ship(folder)
        except FileNotFoundError:
            return 0  # the other one has just removed the file
        finally:
            connection.close()

    def ship_second():
        assert inside.wait(timeout=10)
        second.set()
        return ship()

    monkeypatch.setattr(ingest, step, slow)
    with ThreadPoolExecutor(2) as pool:
        return [work.result() for work in [pool.submit(ship), pool.submit(ship_second)]]


def gaps():
    return [(gap.kind, gap.count) for gap in LogGap.objects.all()]


def test_records_are_stored_once_and_none_counts_as_damaged(folder, monkeypatch):
    spooled(folder, records(50))

    both = shipped_by_two(folder, monkeypatch, "insert")

    assert (AccessLog.objects.count(), answers_counted(), gaps()) == (50, 50, [])
    assert sum(both) == 50
    assert list(folder.glob("*.aside")) == []


def test_losses_are_recorded_once(folder, monkeypatch):
    losing(spooled(folder, records(1), close=False), 7)

    shipped_by_two(folder, monkeypatch, "_record_gap")

    assert gaps() == [("dropped", 7)]


def test_a_torn_end_is_recorded_once(folder, monkeypatch):
    spooled(folder, records(3))
    (path,) = segment_files(folder)
    path.write_bytes(path.read_bytes()[:-10])

    shipped_by_two(folder, monkeypatch, "_record_gap")

    assert (gaps(), AccessLog.objects.count()) == ([("torn", 1)], 2)
