"""Amendments, the verdicts of the shadow policy: from the spool to the row of the decision, exactly once."""

import os
import uuid

import pytest
from django.utils import timezone

from audit.models import AccessLog, LogGap, WaitingAmendment
from audit.spool.frames import framed
from audit.spool.segments import segment_files
from audit.spool.writer import SpoolWriter
from audit.storage import ingest
from tests.support.cast import NOW
from tests.support.records import a_record
from tests.support.spool_files import records

pytestmark = pytest.mark.django_db(transaction=True)

SHADOW = {"effect": "deny", "reason": "access-denied", "decided_by": {"kind": "access-rules", "id": 3}}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def writer(folder):
    writer = SpoolWriter(folder, "node-1")
    yield writer
    writer.close()


def shadows():
    return {str(key): shadow for key, shadow in AccessLog.objects.values_list("decision_id", "shadow")}


def test_an_amendment_is_in_the_row_of_its_decision_alone(folder, writer):
    first, second = records(2)
    writer.write(first)
    writer.write(second)
    writer.amend(second.decision_id, second.at, SHADOW)

    assert ingest.ship(folder) == 2
    assert shadows() == {first.decision_id: None, second.decision_id: SHADOW}


def test_an_amendment_that_is_shipped_later_finds_its_row(folder, writer):
    (record,) = records(1)
    writer.write(record)
    ingest.ship(folder)
    writer.amend(record.decision_id, record.at, SHADOW)

    assert ingest.ship(folder) == 0
    assert shadows() == {record.decision_id: SHADOW}
    assert not WaitingAmendment.objects.exists()


def test_an_amendment_that_is_shipped_first_waits_for_its_row(folder, writer):
    (record,) = records(1)
    now = timezone.now().timestamp()
    amended = a_record(at=now, decision_id=record.decision_id)
    writer.amend(amended.decision_id, now, SHADOW)
    ingest.ship(folder)
    assert WaitingAmendment.objects.count() == 1
    writer.write(amended)
    ingest.ship(folder)

    assert shadows() == {record.decision_id: SHADOW}
    assert not WaitingAmendment.objects.exists()


def test_an_amendment_of_a_deleted_row_is_dropped_in_the_end(folder, writer):
    writer.amend(str(uuid.uuid4()), NOW - 7 * 86_400, SHADOW)

    assert ingest.ship(folder) == 0
    assert not WaitingAmendment.objects.exists()
    assert not LogGap.objects.exists()


@pytest.mark.parametrize("step", ["insert", "amend", "positions.move"])
def test_dying_within_the_transaction_loses_and_doubles_nothing(folder, writer, step, monkeypatch):
    (record,) = records(1)
    writer.write(record)
    writer.amend(record.decision_id, record.at, SHADOW)
    with monkeypatch.context() as patch:
        patch.setattr(f"audit.storage.ingest.{step}", lambda *_: (_ for _ in ()).throw(OSError("killed")))
        with pytest.raises(OSError, match="killed"):
            ingest.ship(folder)
    assert shadows() == {}

    assert ingest.ship(folder) == 1
    assert shadows() == {record.decision_id: SHADOW}


def test_dying_between_commit_and_unlink_changes_nothing(folder, writer):
    (record,) = records(1)
    writer.write(record)
    writer.amend(record.decision_id, record.at, SHADOW)
    writer.close()
    (path,) = segment_files(folder)
    data = path.read_bytes()
    ingest.ship(folder)
    path.write_bytes(data)

    assert ingest.ship(folder) == 0
    assert shadows() == {record.decision_id: SHADOW}


@pytest.mark.parametrize(
    "bad",
    [
        b'{"amends":"x","at":1,"shadow":{"effect":"deny","reason":"access-denied","decided_by":null}}',
        b'{"amends":"019cebab-8748-7000-8000-000000000001","at":1,"shadow":{"effect":"no","reason":"","decided_by":null}}',
        b'{"amends":"019cebab-8748-7000-8000-000000000001","at":"soon","shadow":{}}',
        b'{"amends":"019cebab-8748-7000-8000-000000000001","at":1,"shadow":null}',
        (
            b'{"amends":"019cebab-8748-7000-8000-000000000001","at":1,"shadow":'
            b'{"effect":"deny","reason":"access-denied","decided_by":{"kind":"<b>","id":1}}}'
        ),
        b'{"amends":',
    ],
    ids=["id", "effect", "time", "shadow", "kind", "cut"],
)
def test_an_invalid_amendment_is_quarantined(folder, writer, bad):
    (record,) = records(1)
    writer.write(record)
    os.write(writer._descriptor, framed(bad))

    assert ingest.ship(folder) == 1
    assert shadows() == {record.decision_id: None}
    assert LogGap.objects.get().kind == "damaged"
