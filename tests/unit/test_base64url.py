"""Base64url: exactly one valid text for some bytes."""

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.credentials import base64url


@given(st.binary(max_size=100))
def test_encoded_bytes_are_decoded_to_the_same_bytes(content):
    assert base64url.decode(base64url.encode(content)) == content


@pytest.mark.parametrize(
    ("content", "text"), [(b"", ""), (b"\0", "AA"), (b"\0\0", "AAA"), (b"\0\0\x17", "AAAX"), (b"\xfb\xff", "-_8")]
)
def test_known_texts(content, text):
    assert base64url.encode(content) == text
    assert base64url.decode(text) == content


@given(st.text(st.characters(max_codepoint=0x3FF) | st.sampled_from("-_+/=A9"), max_size=8))
def test_decoded_texts_contain_only_letters_of_the_alphabet(text):
    if base64url.decode(text) is not None:
        assert set(text) <= set(string.ascii_letters + string.digits + "-_")


@given(st.text(string.ascii_letters + string.digits + "-_", max_size=12))
def test_only_canonical_texts_are_decoded(text):
    padded = text + "=" * (-len(text) % 4)
    content = base64.urlsafe_b64decode(padded) if len(text) % 4 != 1 else None
    is_canonical = content is not None and base64.urlsafe_b64encode(content).decode() == padded

    assert base64url.decode(text) == (content if is_canonical else None)


@pytest.mark.parametrize(
    "text",
    [
        "A",
        "AAAAA",
        "AB",
        "AAB",
        "AA=",
        "AA==",
        "A A",
        "AA\n",
        "+AAA",
        "/AAA",
        "\xe4AAA",
        "\u0661AAA",
        "=",
        "-=",
        "----=",
    ],
)
def test_other_texts_are_decoded_to_none(text):
    assert base64url.decode(text) is None
