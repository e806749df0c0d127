"""Headers that tell the site who the visitor is. Pure."""

from gatewall.engine.groups import ADMINS
from gatewall.engine.model import Decision, Reason, Subject, SubjectKind

_PUBLIC = (Reason.HOST_PUBLIC, Reason.PATH_PUBLIC)


def identity_headers(decision: Decision) -> list[tuple[str, str]]:
    """Return all identity headers, empty where unknown, so that no copy sent by the client survives.

    Licenses get no name: an operator could name one after a user.
    """
    subject = decision.subject
    if subject is None:
        kind = "public" if decision.reason in _PUBLIC else "client"
        return [("Remote-User", ""), ("Remote-Email", ""), ("Remote-Groups", ""), ("X-Gatewall-Subject-Kind", kind)]
    is_person = subject.kind is not SubjectKind.LICENSE
    return [
        ("Remote-User", _wire(subject.name) if is_person else ""),
        ("Remote-Email", _wire(subject.email) if is_person else ""),
        ("Remote-Groups", ",".join(groups_of(subject)) if is_person and (subject.groups or subject.is_admin) else ""),
        ("X-Gatewall-Subject-Kind", str(subject.kind)),
    ]


def groups_of(subject: Subject) -> tuple[str, ...]:
    """Return the groups of a subject, sorted; ``admins`` among them if it is one."""
    return tuple(sorted((ADMINS, *subject.groups))) if subject.is_admin else subject.groups


def _wire(text: str) -> str:
    """Encode UTF-8 text for a header (an e-mail address may have an IDN); "" if not printable: servers refuse that."""
    if not text.isprintable():
        return ""
    return text if text.isascii() else text.encode("utf-8").decode("latin-1")
