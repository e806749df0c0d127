"""Identity headers for the site: user, e-mail, groups and subject kind. Pure."""

from gatewall.engine.groups import ADMINS
from gatewall.engine.hosts import Domain
from gatewall.engine.identity_headers import DEFAULT_HEADERS, EMAIL_HEADERS, GROUPS_HEADERS, USER_HEADERS
from gatewall.engine.model import NAMELESS, Decision, Reason, Subject

_DEFAULT_OF = {
    name: default
    for default, names in zip(DEFAULT_HEADERS, (USER_HEADERS, EMAIL_HEADERS, GROUPS_HEADERS), strict=True)
    for name in names
}
"""By header, the default header with the same value."""
_PUBLIC = (Reason.HOST_PUBLIC, Reason.PATH_PUBLIC)


def identity_headers(decision: Decision) -> list[tuple[str, str]]:
    """Return all identity headers, empty where unknown, so that no copy sent by the client survives.

    Licenses and guests get no name: an operator could name a row after a user.
    """
    subject = decision.subject
    if subject is None:
        kind = "public" if decision.reason in _PUBLIC else "client"
        return [("Remote-User", ""), ("Remote-Email", ""), ("Remote-Groups", ""), ("X-Gatewall-Subject-Kind", kind)]
    is_person = subject.kind not in NAMELESS
    return [
        ("Remote-User", _wire(subject.name) if is_person else ""),
        ("Remote-Email", _wire(subject.email) if is_person else ""),
        ("Remote-Groups", ",".join(groups_of(subject)) if is_person and (subject.groups or subject.is_admin) else ""),
        ("X-Gatewall-Subject-Kind", str(subject.kind)),
    ]


def renamed(headers: list[tuple[str, str]], domain: Domain) -> list[tuple[str, str]]:
    """Return identity headers under the names of a domain; a default header that the domain does not use is empty."""
    names, values = domain.identity_headers, dict(headers)
    chosen = [(name, values[_DEFAULT_OF[name]]) for name in names if name not in values]
    return [(name, "" if name in DEFAULT_HEADERS and name not in names else value) for name, value in headers] + chosen


def groups_of(subject: Subject) -> tuple[str, ...]:
    """Return the groups of a subject, sorted; with ``admins`` for an administrator."""
    return tuple(sorted((ADMINS, *subject.groups))) if subject.is_admin else subject.groups


def _wire(text: str) -> str:
    """Encode UTF-8 text for a header (an e-mail address may have an IDN); "" if not printable: servers refuse that."""
    if not text.isprintable():
        return ""
    return text if text.isascii() else text.encode("utf-8").decode("latin-1")
