"""From the spool to the database: every record once, whatever happens in between."""

import random
from datetime import UTC, datetime

import pytest

from audit import ingest
from audit.models import AccessLog, AccessLogRule, LogGap, SpanCount, SpoolSegment, UseCount
from audit.records import AccessRecord
from audit.segments import segment_files
from audit.spool import SpoolWriter
from audit.summaries import Summary
from tests.cast import NOW
from tests.records import a_record

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spool"


def spooled(folder, records, *, close=True, **options):
    writer = SpoolWriter(folder, "node-1", **options)
    for record in records:
        writer.write(record)
    if close:
        writer.close()
    return writer


def records(count, **parts):
    return [a_record(number, **parts) for number in range(count)]


def ids():
    return sorted(str(row) for row in AccessLog.objects.values_list("decision_id", flat=True))


def test_every_record_is_a_row_and_the_file_is_gone(folder):
    spooled(folder, records(300))

    assert ingest.ship(folder).records == 300
    assert ids() == [record.decision_id for record in records(300)]
    assert segment_files(folder) == []


def test_a_row_says_what_the_record_says(folder):
    record = a_record(at=NOW + 0.25)
    spooled(folder, [record])
    ingest.ship(folder)

    row = AccessLog.objects.get()

    assert row.at == datetime.fromtimestamp(NOW + 0.25, UTC)
    assert (row.node, row.client_ip, row.host, row.path) == ("node-1", record.client_ip, record.host, record.path)
    assert (row.rules, row.credential, row.visible) == (record.rules, record.credential, record.visible)
    assert {"kind": row.decided_by_kind, "id": row.decided_by_id} == record.decided_by
    assert {"kind": row.subject_kind, "id": row.subject_id, "name": row.subject_name} == record.subject
    assert AccessLogRule.objects.get().rule_id == 7


def test_a_segment_that_is_being_written_is_shipped_as_far_as_it_goes(folder):
    writer = spooled(folder, records(3), close=False)

    assert ingest.ship(folder).records == 3
    writer.write(a_record(3))
    assert (ingest.ship(folder).records, ingest.ship(folder).records) == (1, 0)
    assert len(segment_files(folder)) == 1

    writer.close()
    assert ingest.ship(folder).records == 0
    assert segment_files(folder) == []
    assert AccessLog.objects.count() == 4


def test_dying_between_commit_and_unlink_doubles_nothing(folder, monkeypatch):
    spooled(folder, records(5))
    (path,) = segment_files(folder)
    data = path.read_bytes()
    ingest.ship(folder)
    path.write_bytes(data)

    assert ingest.ship(folder).records == 0
    assert AccessLog.objects.count() == 5
    assert segment_files(folder) == []


@pytest.mark.parametrize("step", ["_insert", "add_counts", "_move"])
def test_dying_within_the_transaction_loses_nothing(folder, monkeypatch, step):
    spooled(folder, records(5))
    with monkeypatch.context() as patch:
        patch.setattr(ingest, step, lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ingest.ship(folder)

    assert (AccessLog.objects.count(), SpanCount.objects.count(), SpoolSegment.objects.count()) == (0, 0, 0)
    assert ingest.ship(folder).records == 5
    assert AccessLog.objects.count() == 5


def test_a_flipped_bit_costs_one_record_and_is_told(folder):
    spooled(folder, records(20))
    (path,) = segment_files(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)

    assert ingest.ship(folder).records == 19
    assert [(gap.kind, gap.count) for gap in LogGap.objects.all()] == [("damaged", 1)]


def test_however_bits_flip_the_other_records_arrive(folder):
    numbers = random.Random(11)  # noqa: S311 - examples, no secrets
    for number in range(30):
        AccessLog.objects.all().delete()
        spooled(folder, records(10))
        (path,) = segment_files(folder)
        data = bytearray(path.read_bytes())
        first = data.index(b"\n") + 1
        data[numbers.randrange(first, len(data))] ^= 1 << numbers.randrange(8)
        path.write_bytes(data)

        ingest.ship(folder)

        assert AccessLog.objects.count() >= 9, number
        assert segment_files(folder) == []


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
def test_a_record_that_is_no_row_is_told_and_holds_nothing_up(folder, parts):
    spooled(folder, [a_record(1), a_record(2, **parts), a_record(3)])

    assert ingest.ship(folder).records == 2
    assert LogGap.objects.get().kind == "damaged"


def test_a_segment_without_a_head_is_set_aside(folder):
    spooled(folder, records(2))
    (path,) = segment_files(folder)
    path.write_bytes(b"\0" * 100)

    assert ingest.ship(folder).records == 0
    assert path.with_suffix(".aside").exists()
    assert LogGap.objects.get().kind == "damaged"


def lose(writer, count, at=NOW):
    """Have a writer lose so many records, as on a full disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_append", lambda _frame: (_ for _ in ()).throw(OSError("disk full")))
        for number in range(count):
            writer.write(a_record(100 + number, at=at))


def gaps():
    return [(gap.kind, gap.count) for gap in LogGap.objects.order_by("pk")]


def answers_counted():
    minutes = SpanCount.objects.filter(kind="outcome", width=60)
    return sum(Summary.from_text(row.counts, 0).total for row in minutes)


def test_what_was_lost_is_told_with_its_number_once(folder):
    writer = spooled(folder, records(2), close=False)
    ingest.ship(folder)
    lose(writer, 7, at=NOW + 60)
    ingest.ship(folder)
    ingest.ship(folder)
    lose(writer, 2, at=NOW + 120)
    writer.write(a_record(3))
    writer.close()
    ingest.ship(folder)

    assert gaps() == [("dropped", 7), ("dropped", 2)]
    assert {gap.node for gap in LogGap.objects.all()} == {"node-1"}
    assert [gap.at.timestamp() for gap in LogGap.objects.order_by("at")] == [NOW + 60, NOW + 120]
    assert AccessLog.objects.count() == 3
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("step", ["_tell", "_move"])
def test_dying_while_losses_are_told_doubles_and_loses_none(folder, step):
    lose(spooled(folder, records(1), close=False), 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, step, lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ingest.ship(folder)
    ingest.ship(folder)

    assert gaps() == [("dropped", 7)]


def test_what_the_database_refuses_is_set_aside_and_holds_nothing_up(folder):
    refused = {3, 17}
    made = [
        a_record(n, rules=[{"id": 2**70, "name": "x", "action": "block"}] if n in refused else []) for n in range(20)
    ]
    spooled(folder, made)

    assert ingest.ship(folder).records == 18
    assert gaps() == [("damaged", 2)]
    assert {AccessRecord.from_bytes(path.read_bytes()).decision_id for path in folder.glob("*.aside")} == {
        a_record(n).decision_id for n in refused
    }
    assert answers_counted() == 18


def test_who_is_overtaken_by_another_leaves_the_rest_to_the_next_pass(folder, monkeypatch):
    spooled(folder, records(5))
    insert, overtaken = ingest._insert_batch, []

    def overtake(*batch):
        if not overtaken:
            overtaken.append(True)
            ingest.ship(folder)
        return insert(*batch)

    monkeypatch.setattr(ingest, "_insert_batch", overtake)
    ingest.ship(folder)

    assert AccessLog.objects.count() == 5
    assert answers_counted() == 5
    assert segment_files(folder) == []


def test_a_file_in_which_nothing_is_new_costs_no_query(folder, django_assert_num_queries):
    spooled(folder, records(3), close=False)
    looked = {}
    ingest.ship(folder, looked)

    with django_assert_num_queries(0):
        ingest.ship(folder, looked)


def test_a_record_that_is_there_already_is_not_there_twice(folder):
    spooled(folder, records(3))
    ingest.ship(folder)
    spooled(folder, records(5))

    assert ingest.ship(folder).records == 2
    assert AccessLog.objects.count() == 5


def test_half_a_character_is_no_obstacle(folder):
    spooled(folder, [a_record(1, user_agent="\ud83d", path="/\0")])

    assert ingest.ship(folder).records == 1
    assert (AccessLog.objects.get().user_agent, AccessLog.objects.get().path) == ("?", "/\ufffd")


def test_the_piece_at_the_end_of_a_segment_is_kept_and_told(folder):
    spooled(folder, records(3))
    (path,) = segment_files(folder)
    path.write_bytes(path.read_bytes()[:-10])

    ingest.ship(folder)

    assert (AccessLog.objects.count(), gaps()) == (2, [("torn", 1)])
    assert len(list(folder.glob("*.aside"))) == 1
    assert segment_files(folder) == []


def test_dying_before_a_torn_segment_is_removed_tells_it_once(folder, monkeypatch):
    spooled(folder, records(3))
    (path,) = segment_files(folder)
    path.write_bytes(path.read_bytes()[:-10])
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.unlink", lambda _path: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ingest.ship(folder)
    ingest.ship(folder)

    assert gaps() == [("torn", 1)]


def test_what_waits_in_the_spool_is_told(folder):
    writer = spooled(folder, records(3), close=False)
    ingest.ship(folder)
    (path,) = segment_files(folder)
    with path.open("ab") as file:
        file.write(b"\xf1\x97")  # in the middle of a write

    assert ingest.ship(folder).waiting_bytes == 2
    writer.close()


def test_rows_that_decide_are_counted_with_their_last_use(folder):
    spooled(folder, [a_record(n, at=NOW + n) for n in range(4)])
    ingest.ship(folder)
    spooled(folder, [a_record(9, at=NOW - 50)])
    ingest.ship(folder)

    use = UseCount.objects.get(kind="waf-rules", row_id=7)

    assert use.count == 5
    assert use.last_at == datetime.fromtimestamp(NOW + 3, UTC)
