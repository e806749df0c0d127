"""The key ring, from ``kid:base64url[,...]``."""

import pytest

from gatewall.credentials.keyring import KeyRing, KeyRingRefused, SigningKey
from tests.support.cast import base64url

RANDOM = bytes(range(40, 72))
TEXT = base64url(RANDOM)


def test_first_key_signs():
    ring = KeyRing.parse(f"b:{TEXT},a:{base64url(bytes(range(32)))}")

    assert ring.signing == SigningKey("b", RANDOM)


def test_every_key_is_found_by_its_name():
    ring = KeyRing.parse(f"b:{TEXT}, a:{base64url(bytes(range(32)))} ,")

    assert [key.kid for key in ring.keys] == ["b", "a"]
    assert ring.find("a") == ring.keys[1]


@pytest.mark.parametrize("kid", ["", "c", "A", "a ", "a,b"])
def test_unknown_name_finds_nothing(kid):
    assert KeyRing.parse(f"a:{TEXT}").find(kid) is None


@pytest.mark.parametrize("padding", ["", "="])
def test_padding_is_optional(padding):
    assert KeyRing.parse(f"a:{TEXT}{padding}").signing.secret == RANDOM


def test_longer_key_is_taken():
    assert len(KeyRing.parse(f"a:{base64url(bytes(range(64)))}").signing.secret) == 64


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no key"),
        (" , ,", "there is no key"),
        (TEXT, "kid:base64url"),
        (f":{TEXT}", "kid:base64url"),
        (f"a:!!!!{TEXT}", "is not base64url"),
        (f"a b:{TEXT}", "kid:base64url"),
        (f"\xe4:{TEXT}", "kid:base64url"),
        (f"{'k' * 65}:{TEXT}", "kid:base64url"),
        (f"a:{TEXT},a:{base64url(bytes(range(32)))}", "the same kid"),
        ("a:", "has 0 bytes"),
        (f"a:{base64url(RANDOM[:31])}", "has 31 bytes"),
        ("a:not base64!", "is not base64url"),
        (f"a:{TEXT}\xe4", "is not base64url"),
        (f"a:{base64url(b'x' * 32)}", "is not random"),
        (f"a:{base64url(b'abcdefg' * 6)}", "is not random"),
    ],
)
def test_unusable_key_ring_is_refused_with_a_message(text, words):
    with pytest.raises(KeyRingRefused, match=words):
        KeyRing.parse(text)


@pytest.mark.parametrize("text", [f"a:{TEXT[:40]}", f"a:{TEXT}!", f"a b:{TEXT}"])
def test_refusal_never_shows_a_key(text):
    with pytest.raises(KeyRingRefused) as refusal:
        KeyRing.parse(text)

    assert TEXT[:20] not in str(refusal.value)


def test_key_shows_its_name_alone():
    ring = KeyRing.parse(f"a:{TEXT}")

    assert repr(ring.signing) == "SigningKey('a')"
    assert TEXT not in repr(ring)
    assert str(RANDOM) not in repr(ring)


def test_longest_name_is_taken():
    assert KeyRing.parse(f"{'k' * 64}:{TEXT}").signing.kid == "k" * 64


def test_key_of_eight_different_bytes_is_random_enough():
    assert KeyRing.parse(f"a:{base64url(bytes(range(8)) * 4)}").signing.secret == bytes(range(8)) * 4
