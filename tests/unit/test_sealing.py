"""Encryption of secrets at rest: valid texts open, all others are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.credentials import base64url, sealing
from gatewall.credentials.keyring import KeyRing, SigningKey
from gatewall.credentials.sealing import MAX_PLAIN_BYTES, SealBroken, Sealer

OLD = SigningKey("old.1", bytes(range(32)))
NEW = SigningKey("new", bytes(range(100, 132)))
SEALER = Sealer(KeyRing((NEW, OLD)))
# Made with another library (PyCryptodome's HKDF and AES-GCM): nonce 00 01 .. 0b, context totp:42.
VECTOR = "v1.old.1.AAECAwQFBgcICQoLd5z6VmbO0l-I24byi0DMUiTa0vXG8S89KiPcHdMfZROV--el"


@given(plain=st.binary(max_size=200), context=st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_sealed_text_opens(plain, context):
    assert SEALER.open(SEALER.seal(plain, context=context), context=context) == plain


def test_known_text_opens():
    assert SEALER.open(VECTOR, context="totp:42") == b"a secret of twenty b"


def test_the_largest_secret_opens_and_a_larger_one_is_refused():
    largest = bytes(MAX_PLAIN_BYTES)

    assert SEALER.open(SEALER.seal(largest, context="a"), context="a") == largest
    with pytest.raises(ValueError, match="at most 4096 bytes"):
        SEALER.seal(largest + b"x", context="a")


def test_sealed_texts_differ_each_time():
    assert len({SEALER.seal(b"same", context="a") for _ in range(100)}) == 100


def test_every_changed_bit_is_refused():
    sealed = SEALER.seal(b"a secret", context="totp:42").encode()
    flipped = [
        (sealed[:at] + bytes([sealed[at] ^ 1 << bit]) + sealed[at + 1 :]).decode("latin-1")
        for at in range(len(sealed))
        for bit in range(8)
    ]

    for text in flipped:
        with pytest.raises(SealBroken):
            SEALER.open(text, context="totp:42")


def test_every_truncated_text_is_refused():
    sealed = SEALER.seal(b"a secret", context="totp:42")

    for end in range(len(sealed)):
        with pytest.raises(SealBroken):
            SEALER.open(sealed[:end], context="totp:42")


@pytest.mark.parametrize("context", ["totp:43", "totp:4", "totp:42 ", "", "TOTP:42", "totp:42\n"])
def test_text_of_another_place_is_refused(context):
    with pytest.raises(SealBroken):
        SEALER.open(SEALER.seal(b"a secret", context="totp:42"), context=context)


@given(text=st.text(max_size=80))
def test_any_other_text_is_refused(text):
    for sealed in (text, f"v1.new.{text}"):
        with pytest.raises(SealBroken):
            SEALER.open(sealed, context="totp:42")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text + "=",
        lambda text: text + "\n",
        lambda text: " " + text,
        lambda text: text + ".",
        lambda text: text.replace("v1", "V1"),
        lambda text: text.replace("v1", "v2"),
        lambda text: text.replace("new", "old.1"),
        lambda text: text.replace("new", "unknown"),
        lambda text: text.replace("new", ""),
        lambda text: text + "A" * 8000,
        lambda text: text[:-1] + "\udce4",
        lambda text: text[:-1] + "ä",
        lambda text: text[:-1] + "\uff21",
    ],
)
def test_altered_text_is_refused(change):
    with pytest.raises(SealBroken):
        SEALER.open(change(SEALER.seal(b"a secret", context="totp:42")), context="totp:42")


def test_refusal_never_shows_the_secret_or_the_text():
    sealed = SEALER.seal(b"a secret", context="totp:42")

    with pytest.raises(SealBroken) as refusal:
        SEALER.open(sealed, context="totp:43")

    assert sealed[10:30] not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_key_that_is_not_in_the_ring_opens_nothing():
    sealed = Sealer(KeyRing((OLD,))).seal(b"a secret", context="a")

    assert SEALER.open(sealed, context="a") == b"a secret"
    with pytest.raises(SealBroken, match="not in the ring"):
        Sealer(KeyRing((NEW,))).open(sealed, context="a")


def test_key_under_the_name_of_another_opens_nothing():
    sealed = SEALER.seal(b"a secret", context="a")

    with pytest.raises(SealBroken):
        Sealer(KeyRing((SigningKey("new", OLD.secret),))).open(sealed, context="a")


def test_key_renamed_opens_nothing():
    renamed = Sealer(KeyRing((SigningKey("other", NEW.secret),)))

    with pytest.raises(SealBroken):
        renamed.open(SEALER.seal(b"a secret", context="a").replace("new", "other"), context="a")


def test_only_a_text_under_another_key_than_the_first_needs_resealing():
    assert Sealer(KeyRing((OLD, NEW))).needs_resealing(SEALER.seal(b"x", context="a"))
    assert not SEALER.needs_resealing(SEALER.seal(b"x", context="a"))
    with pytest.raises(SealBroken):
        SEALER.needs_resealing("v1.new.short")


def test_the_name_of_the_key_is_read_from_the_text():
    assert sealing.kid_of(Sealer(KeyRing((OLD,))).seal(b"x", context="a")) == "old.1"


def test_ring_key_itself_does_not_encrypt():
    sealed = SEALER.seal(b"a secret", context="a")
    body = base64url.decode(sealed.rpartition(".")[2])
    direct = sealing.AESGCM(NEW.secret)

    with pytest.raises(sealing.InvalidTag):
        direct.decrypt(body[:12], body[12:], b"v1.new\na")


def test_longest_text_opens_and_a_longer_one_is_refused():
    def sealed(letters):
        sealer = Sealer(KeyRing((SigningKey("k" * letters, bytes(range(32))),)))
        return sealer, sealer.seal(bytes(MAX_PLAIN_BYTES), context="a")

    more = 6144 - len(sealed(1)[1])
    longest, text = sealed(1 + more)
    assert longest.open(text, context="a") == bytes(MAX_PLAIN_BYTES)

    longer, text = sealed(2 + more)
    with pytest.raises(SealBroken):
        longer.open(text, context="a")
