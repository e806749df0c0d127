"""Paths of strings in JSON, a subset of JSONPath (RFC 9535): ``$.posts[*].html``, ``$['a b']``. Bounded, no I/O."""

from gatewall.engine.messages import Refused
from gatewall.engine.messages import gettext_noop as _

MAX_PATH = 128
"""Maximum length of a path; of a longer one the end is kept, so that no exclusion names it."""


def member(name: str) -> str:
    """Return the path element for a member whose name is not an identifier: ``['a b']``."""
    name = name[:MAX_PATH].replace("\\", "\\\\").replace("'", "\\'")
    return f"['{name}']"


def canonical_json_path(text: str) -> str:
    """Return the canonical form of a path, as the JSON reader returns it. Raises Refused."""
    if text[:1] != "$":
        raise Refused(_("a JSON path begins with $, like $.posts[*].html"))
    path, at = ["$"], 1
    while at < len(text):
        if text.startswith("[*]", at):
            path.append("[*]")
            at += 3
        elif text[at] == ".":
            name, at = _plain(text, at + 1)
            path.append(f".{name}")
        elif text[at : at + 2] in {"['", '["'}:
            name, at = _quoted(text, at + 1)
            path.append(f".{name}" if name.isidentifier() else member(name))
        else:
            raise Refused(
                _("a JSON path has members like .name or ['a name'], and [*] for every index; no index and no **")
            )
    canonical = "".join(path)
    if len(canonical) >= MAX_PATH:
        raise Refused(_("a JSON path has at most %(number)s characters"), number=MAX_PATH - 1)
    return canonical


def _plain(text: str, begin: int) -> tuple[str, int]:
    """Return the name that begins here, and where it ends."""
    end = begin
    while end < len(text) and text[end] not in ".[":
        end += 1
    name = text[begin:end]
    if not name.isidentifier():
        raise Refused(_("write a name with other than letters, digits and _ in quotes, like $['a-b']"))
    return name, end


def _quoted(text: str, begin: int) -> tuple[str, int]:
    """Return the name in the quotes that begin here, and where the bracket ends."""
    quote, at = text[begin], begin + 1
    name: list[str] = []
    while at < len(text) and text[at] != quote:
        at += text[at] == "\\"
        name.append(text[at : at + 1])
        at += 1
    if text[at : at + 2] != quote + "]":
        raise Refused(_("a name in a JSON path is in quotes and brackets, like $['a-b']"))
    return "".join(name), at + 2
