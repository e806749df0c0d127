"""Detect guessable secrets: known defaults, repetitions, keyboard runs. Pure."""

import re
from itertools import pairwise

_KNOWN = (
    "changeme", "changethis", "changeit", "replaceme", "replacethis", "insecure", "notsecure", "supersecret",
    "topsecret", "yoursecret", "mysecret", "secretkey", "keepitsecret", "keepsecret", "notasecret", "notsosecret",
    "thisisa", "password", "passphrase", "letmein", "iloveyou", "correcthorse", "deadbeef", "cafebabe",
    "placeholder", "examplekey", "generateone", "yourkeyhere", "randomstring", "development", "productionsecret",
    "donotuse", "gatewall",
)  # fmt: skip
"""Words of tutorials and compose files, without punctuation. At least seven letters:
shorter ones occur in random secrets by accident."""
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "azertyuiop", "1234567890")
_NEIGHBORS = frozenset(pair for row in _ROWS for pair in (*pairwise(row), *pairwise(row[::-1])))


def why_weak(secret: str) -> str | None:
    """Return why a secret is weak, as the end of a sentence without the secret, or None."""
    lower = secret.lower()
    if any(word in re.sub(r"[^a-z]", "", lower) for word in _KNOWN):
        return "is a known default"
    if any(secret == (secret[:period] * len(secret))[: len(secret)] for period in range(1, len(secret) // 2 + 1)):
        return "repeats itself"
    steps = list(pairwise(lower))
    runs = sum(abs(ord(one) - ord(other)) <= 1 or (one, other) in _NEIGHBORS for one, other in steps)
    if 2 * runs > len(steps):
        return "runs along the alphabet or the keyboard"
    return None
