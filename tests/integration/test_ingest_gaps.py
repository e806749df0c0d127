"""Shipping of damaged or lost records: they are recorded as gaps, quarantined, and block no other record."""

import itertools
import math
import random
import struct
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from audit.models import AccessLog, LogGap, SpoolSegment
from audit.spool.frames import frames
from audit.spool.records import AccessRecord
from audit.spool.segments import segment_files
from audit.storage import ingest
from tests.support.cast import NOW
from tests.support.form import by_form
from tests.support.records import a_record
from tests.support.spool_files import losing, records
from tests.support.spool_shipping import answers_counted, spooled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spool"


def test_a_flipped_bit_loses_one_record_and_is_recorded_as_a_gap(folder):
    spooled(folder, records(20))
    (path,) = segment_files(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)

    assert ingest.ship(folder) == 19
    assert [(gap.kind, gap.count) for gap in LogGap.objects.all()] == [("damaged", 1)]


def test_a_thousand_flipped_bits_lose_and_quarantine_a_thousand_records(folder):
    numbers = random.Random(11)  # noqa: S311 - examples, no secrets
    made = records(10 * 201)
    for first in range(0, len(made), 201):
        spooled(folder, made[first : first + 201])
    hit = [number for path in segment_files(folder) for number in flip_every_other(path, numbers)]

    ingest.ship(folder)

    assert len(hit) == 1000
    assert AccessLog.objects.count() == len(made) - 1000
    assert sum(count for kind, count in gaps() if kind == "damaged") == 1000
    assert len(list(folder.glob("*.aside"))) == 1000
    assert answers_counted() == len(made) - 1000
    assert segment_files(folder) == []


def flip_every_other(path, numbers):
    """Flip a bit in every other record of a segment; return the positions."""
    data = bytearray(path.read_bytes())
    first = data.index(b"\n") + 1
    ends = [0, *(frame.end for frame in frames(bytes(data[first:]), 0))]
    hit = [numbers.randrange(first + begin, first + end) for begin, end in itertools.pairwise(ends)][1::2]
    for at in hit:
        data[at] ^= 1 << numbers.randrange(8)
    path.write_bytes(data)
    return hit


@pytest.mark.parametrize("step", [by_form(full=1, default=101)])
def test_a_torn_segment_is_a_gap_and_its_end_is_quarantined(folder, step):
    spooled(folder, records(3))
    (path,) = segment_files(folder)
    data = path.read_bytes()
    path.unlink()
    first = data.index(b"\n") + 1
    ends = [first + frame.end for frame in frames(data[first:], 0)]
    for length in range(first, len(data) + 1, step):
        AccessLog.objects.all().delete()
        LogGap.objects.all().delete()
        torn = folder / f"{uuid.uuid4()}.spool"
        torn.write_bytes(data.replace(path.stem.encode(), torn.stem.encode())[:length])

        ingest.ship(folder)

        whole = [end for end in ends if end <= length]
        left = length - (whole[-1] if whole else first)
        assert AccessLog.objects.count() == len(whole), length
        assert gaps() == ([("torn", 1)] if left else []), length
        assert [kept.read_bytes() for kept in folder.glob("*.aside")] == (
            [data[length - left : length]] if left else []
        )
        for kept in folder.glob("*.aside"):
            kept.unlink()


@pytest.mark.parametrize(
    "parts",
    [
        {"client_ip": "nowhere"},
        {"status": "ok"},
        {"path": None},
        {"rules": [{"name": "no id"}]},
        {"rules": [{"id": 7}]},
        {"rules": [7]},
        {"decided_by": {"id": 7}},
        {"subject": ["Bob"]},
    ],
    ids=str,
)
def test_a_record_that_fits_no_row_is_a_gap_and_blocks_no_other(folder, parts):
    spooled(folder, [a_record(1), a_record(2, **parts), a_record(3)])

    assert ingest.ship(folder) == 2
    assert LogGap.objects.get().kind == "damaged"


def test_a_segment_without_a_header_is_quarantined(folder):
    spooled(folder, records(2))
    (path,) = segment_files(folder)
    path.write_bytes(b"\0" * 100)

    assert ingest.ship(folder) == 0
    assert path.with_suffix(".aside").exists()
    assert LogGap.objects.get().kind == "damaged"


def gaps():
    return [(gap.kind, gap.count) for gap in LogGap.objects.order_by("pk")]


def test_dropped_records_are_recorded_once_with_their_number(folder):
    writer = spooled(folder, records(2), close=False)
    ingest.ship(folder)
    losing(writer, 7, at=NOW + 60)
    ingest.ship(folder)
    ingest.ship(folder)
    losing(writer, 2, at=NOW + 120)
    writer.write(a_record(3))
    writer.close()
    ingest.ship(folder)

    assert gaps() == [("dropped", 7), ("dropped", 2)]
    assert {gap.node for gap in LogGap.objects.all()} == {"node-1"}
    assert [gap.at.timestamp() for gap in LogGap.objects.order_by("at")] == [NOW + 60, NOW + 120]
    assert AccessLog.objects.count() == 3
    assert {path.suffix for path in folder.iterdir()} == {".losses"}


@pytest.mark.parametrize("step", ["_record_gap", "positions.move"])
def test_a_crash_while_losses_are_recorded_neither_doubles_nor_loses_them(folder, step):
    losing(spooled(folder, records(1), close=False), 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"audit.storage.ingest.{step}", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ingest.ship(folder)
    ingest.ship(folder)

    assert gaps() == [("dropped", 7)]


@pytest.mark.parametrize("number", [(2**63, NOW), (2**64 - 1, 0), (7, math.nan), (7, 1e300)], ids=str)
def test_a_flipped_bit_in_a_count_of_losses_blocks_nothing(folder, number):
    losing(spooled(folder, records(1)), 1)
    (path,) = folder.glob("*.losses")
    path.write_bytes(path.read_bytes()[:512] + struct.pack("<Qd", *number))

    assert ingest.ship(folder) == 1
    assert (gaps(), list(folder.glob("*.losses"))) == ([("damaged", 1)], [])


def test_a_damaged_count_of_losses_is_right_again_after_the_next_loss(folder):
    writer = spooled(folder, records(1), close=False)
    losing(writer, 1)
    (path,) = folder.glob("*.losses")
    path.write_bytes(path.read_bytes()[:512] + struct.pack("<Qd", 2**63, NOW))
    ingest.ship(folder)
    losing(writer, 1)
    ingest.ship(folder)

    assert gaps() == [("dropped", 2)]
    writer.close()


def test_records_that_the_database_refuses_are_quarantined_and_block_no_other(folder):
    refused = {3, 17}
    made = [
        a_record(n, rules=[{"id": 2**70, "name": "x", "action": "block"}] if n in refused else []) for n in range(20)
    ]
    spooled(folder, made)

    assert ingest.ship(folder) == 18
    assert gaps() == [("damaged", 2)]
    assert {AccessRecord.from_bytes(path.read_bytes()).decision_id for path in folder.glob("*.aside")} == {
        a_record(n).decision_id for n in refused
    }
    assert answers_counted() == 18


def test_records_after_a_hole_larger_than_any_record_are_found(folder):
    spooled(folder, records(20))
    (path,) = segment_files(folder)
    data = path.read_bytes()
    mark = data.index(b"\xf1\x97\xe8\x0a", len(data) // 2)
    path.write_bytes(data[:mark] + bytes(2 * ingest.BATCH_BYTES) + data[mark:])

    ingest.ship(folder)

    assert (AccessLog.objects.count(), gaps()) == (20, [("damaged", 1)])
    (kept,) = folder.glob("*.aside")
    assert kept.stat().st_size == 2 * ingest.BATCH_BYTES


def test_a_file_that_still_exists_is_never_read_twice_even_after_a_year(folder):
    writer = spooled(folder, records(3), close=False)
    losing(writer, 7)
    ingest.ship(folder)

    ingest.forget(folder, "node-1", timezone.now() + timedelta(days=400))
    ingest.ship(folder)
    writer.write(a_record(4))
    writer.close()
    ingest.ship(folder)

    assert (AccessLog.objects.count(), gaps()) == (4, [("dropped", 7)])


def test_old_read_positions_of_removed_files_are_deleted_for_this_host_alone(folder):
    spooled(folder, records(3))
    ingest.ship(folder)
    SpoolSegment.objects.create(id=uuid.uuid4(), node="node-2", position=1, shipped_at=timezone.now())

    ingest.forget(folder, "node-1", timezone.now() - timedelta(days=1))
    assert SpoolSegment.objects.filter(node="node-1").count() == 1
    ingest.forget(folder, "node-1", timezone.now())

    assert [row.node for row in SpoolSegment.objects.all()] == ["node-2"]


def test_the_torn_end_of_a_segment_is_quarantined_and_recorded_as_a_gap(folder):
    spooled(folder, records(3))
    (path,) = segment_files(folder)
    path.write_bytes(path.read_bytes()[:-10])

    ingest.ship(folder)

    assert (AccessLog.objects.count(), gaps()) == (2, [("torn", 1)])
    assert len(list(folder.glob("*.aside"))) == 1
    assert segment_files(folder) == []


def test_a_crash_before_a_torn_segment_is_removed_records_one_gap(folder, monkeypatch):
    spooled(folder, records(3))
    (path,) = segment_files(folder)
    path.write_bytes(path.read_bytes()[:-10])
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.unlink", lambda _path: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ingest.ship(folder)
    ingest.ship(folder)

    assert gaps() == [("torn", 1)]
