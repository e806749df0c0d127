"""Shipping from the spool to the database: every record is stored once, despite faults."""

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AccessLog, AccessLogRule, SpanCount, SpoolSegment, UseCount
from audit.spool.segments import segment_files, waiting_bytes
from audit.storage import ingest
from tests.support.cast import NOW
from tests.support.records import a_record
from tests.support.spool_files import records
from tests.support.spool_shipping import answers_counted, spooled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spool"


def ids():
    return sorted(str(row) for row in AccessLog.objects.values_list("decision_id", flat=True))


def test_every_record_is_a_row_and_the_file_is_gone(folder):
    spooled(folder, records(300))

    assert ingest.ship(folder) == 300
    assert ids() == [record.decision_id for record in records(300)]
    assert segment_files(folder) == []


def test_a_row_has_the_values_of_its_record(folder):
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


def test_a_segment_that_is_still_written_is_shipped_up_to_its_end(folder):
    writer = spooled(folder, records(3), close=False)

    assert ingest.ship(folder) == 3
    writer.write(a_record(3))
    assert (ingest.ship(folder), ingest.ship(folder)) == (1, 0)
    assert len(segment_files(folder)) == 1

    writer.close()
    assert ingest.ship(folder) == 0
    assert segment_files(folder) == []
    assert AccessLog.objects.count() == 4


def test_dying_between_commit_and_unlink_doubles_nothing(folder, monkeypatch):
    spooled(folder, records(5))
    (path,) = segment_files(folder)
    data = path.read_bytes()
    ingest.ship(folder)
    path.write_bytes(data)

    assert ingest.ship(folder) == 0
    assert AccessLog.objects.count() == 5
    assert segment_files(folder) == []


@pytest.mark.parametrize("step", ["insert", "add_counts", "positions.move"])
def test_dying_within_the_transaction_loses_nothing(folder, monkeypatch, step):
    spooled(folder, records(5))
    with monkeypatch.context() as patch:
        patch.setattr(f"audit.storage.ingest.{step}", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ingest.ship(folder)

    assert (AccessLog.objects.count(), SpanCount.objects.count(), SpoolSegment.objects.count()) == (0, 0, 0)
    assert ingest.ship(folder) == 5
    assert AccessLog.objects.count() == 5


def test_a_pass_overtaken_by_another_process_stores_each_record_once(folder, monkeypatch):
    spooled(folder, records(5))
    insert, overtaken = ingest._insert_batches, []

    def overtake(*batch):
        if not overtaken:
            overtaken.append(True)
            ingest.ship(folder)
        return insert(*batch)

    monkeypatch.setattr(ingest, "_insert_batches", overtake)
    ingest.ship(folder)

    assert AccessLog.objects.count() == 5
    assert answers_counted() == 5
    assert segment_files(folder) == []


def test_a_file_without_new_records_costs_no_query(folder, django_assert_num_queries):
    spooled(folder, records(3), close=False)
    looked = {}
    ingest.ship(folder, looked)

    with django_assert_num_queries(0):
        ingest.ship(folder, looked)


def test_a_record_that_is_already_stored_is_not_stored_twice(folder):
    spooled(folder, records(3))
    ingest.ship(folder)
    spooled(folder, records(5))

    assert ingest.ship(folder) == 2
    assert AccessLog.objects.count() == 5


def test_a_lone_surrogate_and_a_null_are_replaced(folder):
    spooled(folder, [a_record(1, user_agent="\ud83d", path="/\0")])

    assert ingest.ship(folder) == 1
    assert (AccessLog.objects.get().user_agent, AccessLog.objects.get().path) == ("?", "/\ufffd")


def test_the_bytes_that_wait_in_the_spool_are_counted(folder):
    writer = spooled(folder, records(3), close=False)
    looked = {}
    (path,) = segment_files(folder)
    assert waiting_bytes(folder, looked) == path.stat().st_size
    ingest.ship(folder, looked)
    assert waiting_bytes(folder, looked) == 0
    with path.open("ab") as file:
        file.write(b"\xf1\x97")  # in the middle of a write

    ingest.ship(folder, looked)
    assert waiting_bytes(folder, looked) == 2
    writer.close()


def test_rows_that_decide_are_counted_with_their_last_use(folder):
    spooled(folder, [a_record(n, at=NOW + n) for n in range(4)])
    ingest.ship(folder)
    spooled(folder, [a_record(9, at=NOW - 50)])
    ingest.ship(folder)

    use = UseCount.objects.get(kind="waf-rules", row_id=7)

    assert use.count == 5
    assert use.last_at == datetime.fromtimestamp(NOW + 3, UTC)


def begun(work):
    """Return the number of transactions that a function begins, without savepoints."""
    with CaptureQueriesContext(connection) as queries:
        work()
    return sum(query["sql"].startswith("BEGIN") for query in queries.captured_queries)


def test_records_of_several_processes_are_stored_in_one_transaction(folder):
    writers = [spooled(folder, records(10)[number : number + 2], close=False) for number in range(0, 8, 2)]

    counts_of_events = (
        0 if connection.vendor == "sqlite" else 1
    )  # right after the commit: see audit/figures/counters.py
    assert begun(lambda: ingest.ship(folder)) == 1 + counts_of_events
    assert AccessLog.objects.count() == 8
    assert answers_counted() == 8
    for writer in writers:
        writer.close()


def test_a_pass_ends_at_the_file_sizes_of_its_start(folder):
    """Otherwise a pass would go on as long as records arrive, with a few in each transaction."""
    writer, more = spooled(folder, records(3), close=False), iter(range(100, 150))

    assert ingest.ship(folder, on_stored=lambda _: writer.write(a_record(next(more)))) == 3
    assert ingest.ship(folder) == 3
    writer.close()


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="only SQLite has one lock for everything")
def test_on_sqlite_a_transaction_has_some_hundreds_of_rows(folder):
    spooled(folder, records(1_000))
    (path,) = segment_files(folder)
    size = path.stat().st_size

    assert begun(lambda: ingest.ship(folder)) >= size // ingest.SHORT_BATCH_BYTES
    assert AccessLog.objects.count() == 1_000


def test_a_file_that_another_process_has_read_does_not_block_the_next_one(folder, monkeypatch):
    for number in range(2):
        spooled(folder, [a_record(number)])
    insert, done = ingest._insert_batches, []

    def overtake(taken):
        if not done:
            done.append(True)
            insert(taken[:1])
        return insert(taken)

    monkeypatch.setattr(ingest, "_insert_batches", overtake)

    assert ingest.ship(folder) == 1
    assert ingest.ship(folder) == 0
    assert (AccessLog.objects.count(), answers_counted(), segment_files(folder)) == (2, 2, [])


def test_a_record_longer_than_a_batch_is_a_row(folder, monkeypatch):
    monkeypatch.setattr(ingest, "BATCH_BYTES", 256)
    spooled(folder, records(3))

    assert ingest.ship(folder) == 3
