"""Forms as they are sent, for the rules on encoding tricks that decoding hides. Bounded, no I/O."""

from gatewall.engine.waf.body.texts import SEVERAL_LINES

_MAX = 4_096
_AROUND = 1_024
"""Characters that are inspected around the first ``%u`` behind the beginning; other tricks are seen decoded as well."""
_BEFORE = 32


def inspected(form: str) -> tuple[str, bool]:
    """Return what is inspected of a form, and whether more may be in it: a ``%u`` behind the beginning."""
    ats = [at for sign in ("%u", "%U") if (at := form.find(sign, _MAX)) >= 0]
    raw = form[:_MAX]
    if ats:
        begin = min(ats) - _BEFORE
        raw = f"{raw}\f{form[begin : begin + _AROUND]}"
    return _encoded_otherwise(_without_documents(raw)), bool(ats)


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
