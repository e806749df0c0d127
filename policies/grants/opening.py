"""Open a share link: bind a browser to the link, and count one use."""

from dataclasses import dataclass
from datetime import datetime

from audit.event_kinds import EventKind
from audit.events.recording import Event, count_event, record_event
from gatewall.credentials.machine import SHARE_LINK_PREFIX, digest_of, is_well_formed
from gatewall.engine.devices import program_of
from gatewall.engine.hosts import DomainTable, Host
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies import policy_source, selectors
from policies.models import ShareLink

_CANNOT_OPEN = _("this link has expired, was revoked, was already used by others, or is for another site")


class ShareLinkOver(Conflict):
    """The link cannot be opened, or does not exist: the response does not reveal which."""

    code = "share-link-over"


@dataclass(frozen=True, slots=True)
class Guest:
    """The visitor who opens a link. ``host``: requested host; ``held``: digests of the links bound to this browser."""

    host: str
    client_ip: str
    user_agent: str
    held: frozenset[str] = frozenset()


def find(token: str, guest: Guest, *, at: datetime) -> ShareLink:
    """Return the link that this guest may open, without counting a use: mail scanners request links, too.

    Raises ShareLinkOver; if the link exists, an event records why.
    """
    digest = digest_of(token) if is_well_formed(token, SHARE_LINK_PREFIX) else ""
    link = selectors.share_links().filter(digest=digest).first()
    if link is None:
        raise ShareLinkOver(_CANNOT_OPEN)
    if why := _refusal(link, guest, at):
        detail = {"link": link.pk, "name": link.name, "why": why}
        count_event(Event(EventKind.SHARE_LINK_REFUSED, at, guest.client_ip, detail=detail), f"{link.pk} {why}")
        raise ShareLinkOver(_CANNOT_OPEN)
    return link


def open_link(token: str, guest: Guest, *, at: datetime) -> ShareLink:
    """Bind the browser to the link, and return the link. Raises ShareLinkOver.

    For a browser that is already bound to the link, no use is counted.
    """
    link = find(token, guest, at=at)
    if link.digest not in guest.held and not _bind(link, guest, at):
        find(token, guest, at=at)  # records why: the link was used, changed or deleted meanwhile
        raise ShareLinkOver(_CANNOT_OPEN)
    return link


@revisions.one_at_a_time
def _bind(link: ShareLink, guest: Guest, at: datetime) -> bool:
    """Count a use of the link; return False if no use is left, or the link expired or was deleted."""
    now = ShareLink.objects.filter(pk=link.pk, expires_at__gt=at).first()
    used = link.openings.count()
    if now is None or used >= now.max_uses:
        return False
    program = program_of(guest.user_agent)
    link.openings.create(number=used + 1, opened_at=at, client_ip=guest.client_ip, program=program)
    detail = {"link": link.pk, "name": link.name, "use": used + 1, "max_uses": now.max_uses, "program": program}
    record_event(Event(EventKind.SHARE_LINK_OPENED, at, guest.client_ip, detail=detail))
    return True


def _refusal(link: ShareLink, guest: Guest, at: datetime) -> str:
    """Return why the guest may not open the link; empty if they may."""
    domain = DomainTable(policy_source.domains()).match(Host(guest.host))
    if domain is None or domain.id != link.domain.pk:
        return "another-host"
    if link.expires_at <= at:
        return "ended"
    is_used_up = link.uses >= link.max_uses and link.digest not in guest.held  # type: ignore[attr-defined]  # annotated
    return "used-up" if is_used_up else ""
