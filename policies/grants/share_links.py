"""Create, change and delete share links. The token of a link is returned only when the link is created."""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import ValidationError

from gatewall.credentials.machine import SHARE_LINK_PREFIX, MachineToken, new_token
from gatewall.engine.hosts import Access
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies import rows
from policies.grant_limits import MAX_SHARE_LINKS, require_valid_end
from policies.grants.services import GrantOverruled, refuse_denied, room_for_one
from policies.models import AuthorizedDomain, ShareLink


class TooManyShareLinks(Conflict):
    """The maximum number of share links is reached."""

    code = "too-many-share-links"


@revisions.one_at_a_time
def issue_share_link(
    *, actor: str, domain: AuthorizedDomain, expires_at: datetime, **values: Any
) -> tuple[ShareLink, MachineToken]:
    """Create a share link for guests of a domain; return it with its token.

    If the maximum number is reached, expired links are deleted first.
    Raises ValidationError, GrantOverruled, TooManyShareLinks, DomainRemoved.
    """
    token = new_token(SHARE_LINK_PREFIX)
    values |= {"domain": domain, "expires_at": expires_at}
    _refuse_contradictions(values)
    replaced = room_for_one(ShareLink.objects.all(), MAX_SHARE_LINKS)
    if replaced is None:
        raise TooManyShareLinks(
            _("there are %(number)s share links already, and none has ended: delete some first"),
            number=f"{MAX_SHARE_LINKS:,}",
        )
    link = ShareLink(created_by=actor, prefix=token.prefix, digest=token.digest)
    rows.save(link, *ShareLink.segments, actor=actor, replaced=replaced, **values)
    return link, token


@revisions.one_at_a_time
def change_share_link(link: ShareLink, *, actor: str, **values: Any) -> ShareLink:
    """Update a share link, except its token. Raises ValidationError, GrantOverruled, DomainRemoved, Gone."""
    link = revisions.as_it_is_now(link)
    _refuse_contradictions(values)
    rows.save(link, *ShareLink.segments, actor=actor, **values)
    return link


def delete_share_link(link: ShareLink, *, actor: str) -> None:
    """Revoke a share link: its guests are refused at once. Raises Gone."""
    rows.delete(link, *ShareLink.segments, actor=actor)


def url_of(token: MachineToken, origin: str) -> str:
    """Return the URL of a share link below the origin of the site. Logs mask the token: ``token`` is a secret name."""
    return f"{origin}{settings.ROOT_PATH}/share?{urlencode({'token': token.text})}"


def _refuse_contradictions(values: dict[str, Any]) -> None:
    if "expires_at" in values:
        require_valid_end(values["expires_at"])
    if "domain" not in values:
        return
    domain = values["domain"]
    refuse_denied(domain)
    if domain.name.startswith("*."):
        words = _("a share link is for one host: register the host by its own name")
        raise ValidationError({"domain": ValidationError(words, "invalid")})
    if domain.access == Access.PHISHING_RESISTANT:
        raise GrantOverruled(
            _("%(domain)s asks for a passkey, which a guest does not have: change that first"), domain=domain.name
        )
