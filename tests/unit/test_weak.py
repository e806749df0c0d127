"""Detection of guessable secrets."""

import random

import pytest

from gatewall.credentials import base64url
from gatewall.credentials.weak import why_weak


@pytest.mark.parametrize(
    "secret",
    [
        "changeme-changeme-changeme-1234567",
        "Please-Change_Me.before.you.go.live!",
        "CHANGE-ME-0f8a7b6c5d4e3f2a1b0c9d8e7f6a5b",
        "django-insecure-4$k8q!z1w9x2c7v5b3n6m0a",
        "super-secret-key-for-production-2024",
        "this_is_a_very_long_secret_for_hs256",
        "your-256-bit-secret-your-key-here-ok",
        "my-S3cret my secret my password 998877",
        "hunter2" * 8,
        "0123456789abcdef" * 2,
        "0123456789abcdefghijklmnopqrstuvwxyz",
        "qwertyuiopasdfghjklzxcvbnm1234567890",
        "poiuytrewqlkjhgfdsamnbvcxz0987654321",
        "a" * 64,
        bytes(range(32)).decode("latin-1"),
        bytes(range(90, 58, -1)).decode("latin-1"),
        (b"\xde\xad\xbe\xef" * 8).decode("latin-1"),
        "gatewall-gatewall-secret-0192837465",
    ],
)
def test_guessable_secret_is_reported_without_being_shown(secret):
    why = why_weak(secret)

    assert why
    assert secret not in why


# The same on every run: of 50,000 random hex secrets one has "deadbeef" or the like in it.
RANDOM = random.Random(2026)  # noqa: S311
SECRETS = [RANDOM.randbytes(32) for _ in range(2000)]


@pytest.mark.no_cover
@pytest.mark.parametrize("written", [base64url.encode, bytes.hex, lambda secret: secret.decode("latin-1")])
def test_random_secret_is_not_guessable(written):
    assert not [why for secret in SECRETS if (why := why_weak(written(secret)))]


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ("aa", "repeats itself"),
        ("7Q9x7Q9x", "repeats itself"),
        ("7Q9x7Q9x7", "repeats itself"),
        ("7Q9xL7Q9", None),
        ("abcd7Q", "runs along the alphabet or the keyboard"),
        ("abc7Q", None),
        ("acegikmo", None),
    ],
)
def test_reason_is_the_right_one_at_the_border(secret, why):
    assert why_weak(secret) == why
