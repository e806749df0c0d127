"""Issue, find and use up one-time links. Rows contain only digests, so the database reveals no link."""

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.models import AccountLink, LinkPurpose, User
from gatewall.credentials.machine import LINK_PREFIX, MachineToken, digest_of, is_well_formed, new_token
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Gone

LIFETIMES = {
    LinkPurpose.INVITATION: timedelta(hours=72),
    LinkPurpose.PASSWORD_RESET: timedelta(minutes=30),
}
PATHS = {LinkPurpose.INVITATION: "invitation", LinkPurpose.PASSWORD_RESET: "password/new"}
"""The page of each purpose, below ``ROOT_PATH``."""


_OVER = _("this link was used already, has expired, or was replaced by a newer one")


class LinkOver(Conflict):
    """The link was used, has expired, was replaced by a newer one, or never existed: the response does not say."""

    code = "link-over"


@dataclass(frozen=True, slots=True)
class Issued:
    """A new link: its token, which is shown once, and its row."""

    row: AccountLink
    token: MachineToken


def issue(user: User, purpose: LinkPurpose, *, at: datetime, created_by: str, may_rename: bool = False) -> Issued:
    """Create a link, which replaces the user's earlier one of this purpose. Raises Gone."""
    token, found = new_token(LINK_PREFIX), User.objects.filter(pk=user.pk).first()
    if found is None:
        raise Gone(_("the user was deleted in the meantime"))
    values = {
        "digest": token.digest,
        "session_version": found.session_version,
        "may_rename": may_rename,
        "created_at": at,
        "created_by": created_by[:100],
        "expires_at": at + LIFETIMES[purpose],
    }
    try:
        with transaction.atomic():
            row, _is_new = AccountLink.objects.update_or_create(user=found, purpose=purpose, defaults=values)
    except IntegrityError:
        raise Gone(_("the user was deleted in the meantime")) from None
    return Issued(row, token)


def url_of(issued: Issued, origin: str) -> str:
    """Return the link below an origin.

    The token is in the query, where the logs of Django and of the gate omit it: ``token`` is a secret name.
    """
    path = PATHS[LinkPurpose(issued.row.purpose)]
    return f"{origin}{settings.ROOT_PATH}/{path}?{urlencode({'token': issued.token.text})}"


def find(token: str, purpose: LinkPurpose, *, at: datetime) -> AccountLink:
    """Return the live link of this token, with its user. Raises LinkOver."""
    digest = digest_of(token) if is_well_formed(token, LINK_PREFIX) else ""
    row = AccountLink.objects.select_related("user").filter(digest=digest, purpose=purpose).first()
    if row is None or not secrets.compare_digest(row.digest, digest) or not _is_live(row, at):
        raise LinkOver(_OVER)
    return row


def spend(row: AccountLink) -> None:
    """Use up the link; only one of concurrent uses succeeds. Raises LinkOver."""
    if not AccountLink.objects.filter(pk=row.pk, digest=row.digest).delete()[0]:
        raise LinkOver(_OVER)


def _is_live(row: AccountLink, at: datetime) -> bool:
    user = row.user
    return at < row.expires_at and user.is_active and user.session_version == row.session_version
