"""The access-log record: bounded, and without a place for secrets."""

import json
from dataclasses import fields, replace

import pytest

from audit.records import MAX_QUERY, AccessRecord, RecordRefused, masked_query
from tests.records import a_record

SECRET_NAMES = [
    "access_token", "api_key", "apikey", "auth", "authorization", "client_secret", "code", "id_token", "jwt", "key",
    "license", "otp", "pass", "passwd", "password", "private_token", "pwd", "refresh_token", "secret", "session",
    "sessionid", "sig", "signature", "token", "totp",
]  # fmt: skip


def encoded(name):
    return "".join(f"%{ord(letter):02x}" for letter in name)


SPELLINGS = {
    "as it is": lambda name: name,
    "capitals": str.upper,
    "title case": str.title,
    "encoded": encoded,
    "encoded in capitals": lambda name: encoded(name).upper(),
    "one letter encoded": lambda name: encoded(name[0]) + name[1:],
    "encoded twice": lambda name: encoded(name).replace("%", "%25"),
    "hyphen for underscore": lambda name: name.replace("_", "-"),
    "encoded hyphen": lambda name: name.replace("_", "%2D"),
    "space around": lambda name: f"+{name}%20",
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("name", SECRET_NAMES)
def test_the_value_of_a_secret_name_is_masked(name, spelling):
    sent = spelling(name)

    assert masked_query(f"a=1&{sent}=canary&b=2") == f"a=1&{sent}=***&b=2"


@pytest.mark.parametrize("query", ["token=canary", "a&token=canary", "token=a=canary", "token=canary&token=canary"])
def test_a_secret_is_masked_wherever_it_stands(query):
    assert "canary" not in masked_query(query)


@pytest.mark.parametrize(
    "query", ["", "a", "token", "token=", "q=token", "tokens=1", "my_token=1", "a=%74oken&b", "&&", "=x", "a=1;b=2"]
)
def test_other_queries_stay_as_they_were_sent(query):
    assert masked_query(query) == query


@pytest.mark.parametrize("query", ["a" * 9000, "a=" + "b" * 9000, "&" * 9000, "a=1&" * 3000, "%" * 9000])
def test_a_query_is_bounded(query):
    assert masked_query(query) == query[:MAX_QUERY]


def test_a_secret_at_the_end_of_what_is_kept_is_masked():
    filler = "a=" + "b" * (MAX_QUERY - 10)

    assert "canary" not in masked_query(f"{filler}&token=canary-canary")


def test_bytes_that_are_no_text_do_no_harm():
    assert masked_query("\xff%ff%zz=\x80&token=\xff") == "\xff%ff%zz=\x80&token=***"


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
