"""The access-log record: bounded, and without a place for secrets."""

import json
from dataclasses import fields, replace

import pytest

from audit.records import AccessRecord, RecordRefused
from tests.records import a_record

# Round trip.


def test_a_record_comes_back_as_it_was():
    record = a_record()

    assert AccessRecord.from_bytes(record.to_bytes()) == record


def test_a_record_without_anything_comes_back_as_it_was():
    record = replace(a_record(), country_code=None, host=None, decided_by=None, rules=[], credential=None, subject=None)

    assert AccessRecord.from_bytes(record.to_bytes()) == record


def test_every_byte_of_a_path_comes_back_as_it_was():
    record = replace(a_record(), path="".join(map(chr, range(256))), user_agent="\u20ac\U0001f600\ud800")

    assert AccessRecord.from_bytes(record.to_bytes()) == record


def test_a_record_is_one_line_of_ascii():
    data = replace(a_record(), path="/\n\r\0\xff").to_bytes()

    assert data.isascii()
    assert not set(data) & set(range(32))


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"1", b"{}", b'{"at": 1}', b"\xff", b"[" * 100_000, a_record().to_bytes()[:-1]],
)
def test_what_is_no_record_is_refused(data):
    with pytest.raises(RecordRefused):
        AccessRecord.from_bytes(data)


def test_a_record_with_a_field_more_is_refused():
    with pytest.raises(RecordRefused):
        AccessRecord.from_bytes(json.dumps(json.loads(a_record().to_bytes()) | {"password": "x"}).encode())


def test_there_is_no_field_for_secrets():
    assert {field.name for field in fields(AccessRecord)} == {
        "decision_id", "at", "client_ip", "country_code", "method", "scheme", "host", "path", "query", "user_agent",
        "status", "outcome", "reason", "decided_by", "rules", "credential", "visible", "subject", "latency_us",
        "policy_revision",
    }  # fmt: skip


def test_a_record_does_not_change():
    with pytest.raises(AttributeError):
        a_record().path = "/other"
