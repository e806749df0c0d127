"""The access-log record: bounded, and without a place for secrets."""

import json
from dataclasses import asdict, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.spool.frames import MARK
from audit.spool.records import AccessRecord, Kind, RecordRefused
from audit.spool.rows import RECORDED
from audit.spool.secret_names import is_secret_name
from tests.support.cast import BOBS_GIT_TOKEN
from tests.support.records import a_record

# Round trip.


def test_a_record_is_read_back_unchanged():
    record = a_record()

    assert AccessRecord.from_bytes(record.to_bytes()) == record


def test_an_empty_record_is_read_back_unchanged():
    record = replace(a_record(), country_code=None, host=None, decided_by=None, rules=[], credential=None, subject=None)

    assert AccessRecord.from_bytes(record.to_bytes()) == record


def test_every_byte_of_a_path_is_read_back_unchanged():
    record = replace(a_record(), path="".join(map(chr, range(256))), user_agent="\u20ac\U0001f600\ud800")

    assert AccessRecord.from_bytes(record.to_bytes()) == record


def test_a_record_is_one_line_of_utf_8():
    data = replace(a_record(), path="/\n\r\0\xff").to_bytes()

    assert "\xff" in data.decode("utf-8")
    assert not set(data) & set(range(32))


TEXTS = st.text(st.characters(), max_size=40)  # halves of surrogate pairs as well


@given(path=TEXTS, name=TEXTS, number=st.integers(0, 2**70))
def test_records_with_any_texts_are_written_and_read(path, name, number):
    record = replace(a_record(), path=path, subject={"kind": "user", "id": number, "name": name})

    data = record.to_bytes()

    assert AccessRecord.from_bytes(data) == record
    assert not set(data) & set(range(32))
    assert MARK not in data


def test_a_record_of_a_release_that_wrote_ascii_alone_is_read():
    record = replace(a_record(), path="/\xfc", user_agent="\u20ac\U0001f600")

    assert AccessRecord.from_bytes(json.dumps(asdict(record)).encode("ascii")) == record


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"1", b"{}", b'{"at": 1}', b"\xff", b"[" * 100_000, a_record().to_bytes()[:-1]],
)
def test_an_invalid_record_is_refused(data):
    with pytest.raises(RecordRefused):
        AccessRecord.from_bytes(data)


def test_a_record_with_a_field_more_is_refused():
    with pytest.raises(RecordRefused):
        AccessRecord.from_bytes(json.dumps(json.loads(a_record().to_bytes()) | {"password": "x"}).encode())


def test_there_is_no_field_for_secrets():
    assert {field.name for field in fields(AccessRecord)} == {field.name for field in RECORDED} | {"made_by_page"}
    # Of a credential, its kind and whether it was valid.
    assert [field.name for field in RECORDED if is_secret_name(field.name)] == ["credential"]


def test_every_text_of_a_visitor_that_may_hold_a_secret_is_masked():
    long = {field.name: field.mask for field in RECORDED if field.kind is Kind.TEXT and field.length > 100}

    assert all("***" in mask(f"x/{BOBS_GIT_TOKEN}") for mask in long.values())
    assert set(long) >= {"host", "path", "query", "user_agent"}


LAST = {"made_by_page": False, "shadow": None, "waf_score": None, "would_refuse": False}


@pytest.mark.parametrize("name", LAST)
def test_a_record_from_before_a_field_was_added_is_read(name):
    shadow = {"effect": "deny", "reason": "access-denied", "decided_by": None}
    record = a_record(made_by_page=True, shadow=shadow, waf_score=5, would_refuse=True)
    values = json.loads(record.to_bytes())
    del values[name]

    assert AccessRecord.from_bytes(json.dumps(values).encode()) == replace(record, **{name: LAST[name]})


def test_the_last_fields_are_written_only_where_one_has_a_value():
    assert not LAST.keys() & json.loads(a_record().to_bytes()).keys()
    assert json.loads(a_record(waf_score=3).to_bytes()).keys() >= LAST.keys()


def test_a_record_accepts_no_other_attribute():
    with pytest.raises(AttributeError):
        a_record().password = "x"
