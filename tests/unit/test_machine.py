"""Machine tokens: random, with a prefix and a checksum, stored as digests."""

import hashlib

import pytest

from gatewall.credentials import machine
from gatewall.credentials.machine import GIT_TOKEN_PREFIX, LICENSE_PREFIX, digest_of, is_well_formed, new_token
from tests.support.cast import BOBS_GIT_TOKEN

PREFIXES = pytest.mark.parametrize("prefix", [GIT_TOKEN_PREFIX, LICENSE_PREFIX])


@PREFIXES
def test_new_token_is_well_formed(prefix):
    assert is_well_formed(new_token(prefix).text, prefix)


def test_new_token_carries_256_random_bits():
    texts = {new_token(GIT_TOKEN_PREFIX).text for _ in range(100)}

    assert len(texts) == 100
    assert {len(text) for text in texts} == {4 + 43 + 6}
    assert 62**43 > 2**256
    # Each of the 43 places takes many values: none of them is fixed.
    assert min(len({text[place] for text in texts}) for place in range(4, 4 + 42)) > 20


def test_prefix_identifies_kind_and_token():
    token = new_token(LICENSE_PREFIX)

    assert token.prefix == token.text[:10]
    assert token.prefix.startswith("gwl_")


def test_token_is_stored_as_its_sha256_digest():
    token = new_token(GIT_TOKEN_PREFIX)

    assert token.digest == digest_of(token.text) == hashlib.sha256(token.text.encode()).hexdigest()


def test_token_shows_no_text():
    token = new_token(GIT_TOKEN_PREFIX)

    assert token.text not in repr(token)


def test_one_wrong_character_in_any_place_is_detected():
    wrong = [
        BOBS_GIT_TOKEN[:position] + other + BOBS_GIT_TOKEN[position + 1 :]
        for position, right in enumerate(BOBS_GIT_TOKEN)
        for other in "AZ9"
        if other != right
    ]

    assert [text for text in wrong if is_well_formed(text, GIT_TOKEN_PREFIX)] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gwg_",
        BOBS_GIT_TOKEN[:-1],
        BOBS_GIT_TOKEN + "A",
        BOBS_GIT_TOKEN.lower(),
        BOBS_GIT_TOKEN.replace("gwg_", "gwl_"),
        f" {BOBS_GIT_TOKEN}",
        BOBS_GIT_TOKEN[:-1] + "\xff",
        BOBS_GIT_TOKEN[:20] + "\xff" + BOBS_GIT_TOKEN[21:],
        BOBS_GIT_TOKEN[:20] + "\u20ac" + BOBS_GIT_TOKEN[21:],
    ],
)
def test_other_text_is_no_token(text):
    assert not is_well_formed(text, GIT_TOKEN_PREFIX)


@pytest.mark.parametrize("text", ["", "\xff", "\u20ac", "\ud800"])
def test_any_text_has_a_digest(text):
    assert len(digest_of(text)) == 64


def test_new_token_is_256_bits_in_base_62(monkeypatch):
    monkeypatch.setattr("secrets.randbits", lambda bits: 2**bits - 1)
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    body = new_token(GIT_TOKEN_PREFIX).text[4:47]

    assert sum(digits.index(digit) * 62**place for place, digit in enumerate(reversed(body))) == 2**256 - 1


def test_good_checksum_saves_neither_another_prefix_nor_another_length():
    body = GIT_TOKEN_PREFIX + "A" * 42

    assert not is_well_formed(new_token(LICENSE_PREFIX).text, GIT_TOKEN_PREFIX)
    assert not is_well_formed(body + machine._checksum(body), GIT_TOKEN_PREFIX)
    assert is_well_formed(f"{body}A" + machine._checksum(f"{body}A"), GIT_TOKEN_PREFIX)
