"""Forms as they are sent, for the rules on encoding tricks that decoding hides. Bounded, no I/O."""

from gatewall.engine.waf.body.texts import SEVERAL_LINES

_MAX = 4_096
_AROUND = 1_024
"""Characters inspected around the first ``%u`` after the beginning; other tricks are detected after decoding, too."""
_BEFORE = 32


def inspected(form: str) -> tuple[str, bool]:
    """Return the part of a form to inspect, and whether more may be in it: a ``%u`` after the beginning."""
    at = _first_wide(form.encode("latin-1"))
    raw = form[:_MAX]
    if at >= 0:
        begin = at - _BEFORE
        raw = f"{raw}\f{form[begin : begin + _AROUND]}"
    return _encoded_otherwise(_without_documents(raw)), at >= 0


def _first_wide(form: bytes) -> int:
    """Return the position of the first ``%u`` after the beginning, or -1; searching each case takes thrice as long."""
    if b"U" in form:
        form = form.lower()
    return form.find(b"%u", _MAX) if b"u" in form else -1


def _without_documents(form: str) -> str:
    """Return a form without arguments of several lines, which name no file."""
    if form.count("%0") < SEVERAL_LINES:
        return form
    return "&".join([each for each in form.split("&") if each.upper().count("%0A") < SEVERAL_LINES])


def _encoded_otherwise(form: str) -> str:
    """Return a form in which only unusual encodings are left of dots and slashes."""
    for usual, meaning in (("%2F", "/"), ("%2f", "/"), ("%5C", "\\"), ("%5c", "\\"), ("%2E", "."), ("%2e", ".")):
        form = form.replace(usual, meaning)
    return form.replace("\n", "\r")
