"""Recognize tokens by their prefix anywhere in a text: our own and those of well-known vendors.

Pure; linear time. Vendors publish their prefixes for secret scanning.
"""

from collections.abc import Iterable, Iterator
from string import ascii_letters, ascii_uppercase, digits

SHORTEST_OF_VENDORS = 20
"""Minimum length of a text that can contain a vendor's token."""
MAX_PLACES = 24
"""Maximum number of places of prefixes that are checked in a text; from the next one on, the text counts as a token."""
_SHORTEST = 8  # characters after the prefix of our own tokens
_ALPHANUMERIC = ascii_letters + digits
_BASE64URL = _ALPHANUMERIC + "_-"  # of JSON Web Tokens
_WITH_DOTS = _BASE64URL + "."
_CAPITALS = ascii_uppercase + digits
_OWN_PREFIXES = ("gwa_", "gwg_", "gwi_", "gwl_", "gwp_", "gws_")
_WITH_UNDERSCORE = {
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), (_ALPHANUMERIC, 16)),  # GitHub
    "github_pat_": (_BASE64URL, 16),
    **dict.fromkeys(("sk_live_", "sk_test_", "rk_live_", "rk_test_"), (_ALPHANUMERIC, 12)),  # Stripe
    "whsec_": (_ALPHANUMERIC + "+/=", 16),
    "npm_": (_ALPHANUMERIC, 30),
    "hf_": (_ALPHANUMERIC, 30),  # Hugging Face
    **dict.fromkeys(("shpat_", "shpca_", "shppa_", "shpss_"), (_ALPHANUMERIC, 24)),  # Shopify
    **dict.fromkeys(("dop_v1_", "doo_v1_", "dor_v1_"), (_ALPHANUMERIC, 24)),  # DigitalOcean
    "dckr_pat_": (_BASE64URL, 16),  # Docker
    "glsa_": (_BASE64URL, 24),  # Grafana
    "glc_": (_ALPHANUMERIC + "+/=", 30),
    "lin_api_": (_ALPHANUMERIC, 24),  # Linear
    "figd_": (_BASE64URL, 24),  # Figma
    "pat_": (_ALPHANUMERIC, 32),
}
_WITH_HYPHEN = {
    **dict.fromkeys(("glpat-", "gldt-", "glrt-", "glft-", "glcbt-", "glptt-", "glsoat-", "glimt-"), (_WITH_DOTS, 16)),
    **dict.fromkeys(
        ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxc-", "xoxd-", "xapp-"), (_BASE64URL, 12)
    ),
    **dict.fromkeys(("sk-ant-", "sk-proj-"), (_BASE64URL, 16)),
    "sk-": (_ALPHANUMERIC, 32),  # OpenAI
    "pypi-": (_BASE64URL, 40),
    "xkeysib-": (_BASE64URL, 24),  # Brevo
}
_OTHER_PREFIXES = {
    **dict.fromkeys(("AKIA", "ASIA"), (_CAPITALS, 16)),  # AWS
    "AIza": (_BASE64URL, 30),  # Google
    "ya29.": (_BASE64URL, 16),
    "SG.": (_WITH_DOTS, 40),  # SendGrid
    **dict.fromkeys(("hvs.", "hvb."), (_BASE64URL, 20)),  # Vault
    "ATATT": (_BASE64URL + "=", 30),  # Atlassian
}
# Every prefix contains one of these; each look-up takes 30 ns on the hot path.
_UNDERSCORE_PARTS = ("gh", "pat_", "_live_", "_test_", "hsec_", "npm_", "hf_", "shp", "_v1_", "gl", "api_", "figd_")
_HYPHEN_PARTS = ("gl", "xox", "xapp-", "sk-", "pypi-", "xkeys")
_FAMILIES = _WITH_UNDERSCORE | _WITH_HYPHEN | _OTHER_PREFIXES


def may_have_token(text: str) -> bool:
    """Return False if a text has no token with a known prefix: a quick check for the hot path."""
    return may_have_own_token(text) or (len(text) >= SHORTEST_OF_VENDORS and _may_have_vendors(text))


def may_have_own_token(text: str) -> bool:
    """Return False if a text has neither one of our own tokens nor a JSON Web Token."""
    small = text.lower()
    return ("gw" in small and "_" in small) or "eyj" in small


def _may_have_vendors(text: str) -> bool:
    """Return False if a text has no vendor token. Checks common parts of the prefixes first."""
    return (
        ("_" in text and _has_any(_UNDERSCORE_PARTS, text))
        or ("-" in text and _has_any(_HYPHEN_PARTS, text))
        or _has_any(_OTHER_PREFIXES, text)
    )


def _has_any(parts: Iterable[str], text: str) -> bool:
    for part in parts:  # noqa: SIM110 - a generator takes twice the time
        if part in text:
            return True
    return False


def tokens(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of tokens, from left to right: our own (in any letter case), vendors', JSON Web Tokens."""
    small, done = text.lower(), 0
    starts: dict[int, list[str]] = {at: [] for look in (*_OWN_PREFIXES, "eyj") for at in _places(small, look)}
    if len(text) >= SHORTEST_OF_VENDORS:
        for prefix in _FAMILIES:
            for at in _places(text, prefix):
                starts.setdefault(at, []).append(prefix)
    for number, start in enumerate(sorted(starts)):
        if start < done:
            continue
        if number >= MAX_PLACES:
            yield start, len(text)
            return
        end = _end(text, small, start, starts[start])
        if end > start:
            yield start, end
            done = end


def _end(text: str, small: str, start: int, prefixes: list[str]) -> int:
    """Return the end of the token at ``start``, or ``start`` without one; ``prefixes``: of vendors, found there."""
    if small.startswith(_OWN_PREFIXES, start):
        return _end_of_run(small, start, len(_OWN_PREFIXES[0]), _ALPHANUMERIC, _SHORTEST)
    if text.startswith("eyJ", start):
        return _end_of_jwt(text, start)
    if start and text[start - 1] in _ALPHANUMERIC:
        return start  # within a word
    ends = [_end_of_run(text, start, len(prefix), *_FAMILIES[prefix]) for prefix in prefixes]
    return max(ends, default=start)


def _places(text: str, look: str) -> list[int]:
    """Return the places of a prefix, at most one more than are checked."""
    places: list[int] = []
    at = text.find(look)
    while at >= 0 and len(places) <= MAX_PLACES:
        places.append(at)
        at = text.find(look, at + 1)
    return places


def _end_of_jwt(text: str, start: int) -> int:
    """Return the end of the JSON Web Token that begins at ``start``, or ``start`` if there is none."""
    if start and text[start - 1] in _BASE64URL:
        return start
    dot = _run(text, start, _BASE64URL)
    if dot - start <= _SHORTEST or not text.startswith(".", dot):
        return start
    return _run(text, dot, _WITH_DOTS)


def _end_of_run(text: str, start: int, prefix: int, characters: str, shortest: int) -> int:
    end = _run(text, start + prefix, characters)
    return end if end - start - prefix >= shortest else start


def _run(text: str, position: int, characters: str) -> int:
    return len(text) - len(text[position:].lstrip(characters))
