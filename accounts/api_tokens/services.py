"""Issue and revoke API tokens. A token is returned only when it is created."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from accounts.models import ApiToken, User
from gatewall.api.scopes import Scope
from gatewall.credentials.machine import API_TOKEN_PREFIX, MachineToken, new_token
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import describe, difference
from gatewall.kernel.refusals import Conflict, Gone
from gatewall.policy import revisions
from policies import rows

USUAL_LIFE = timedelta(days=90)
LONGEST_LIFE = timedelta(days=400)
MAX_API_TOKENS = 50
"""API tokens per admin, including expired ones."""
USES_APART = timedelta(minutes=1)
"""Minimum time between two writes of ``last_used_at``."""


class TooManyApiTokens(Conflict):
    """The admin has the maximum number of API tokens."""

    code = "too-many-api-tokens"


@revisions.one_at_a_time
def issue(
    *,
    maker: User,
    name: str,
    scopes: Collection[str],
    expires_at: datetime | None = None,
    networks: Sequence[str] = (),
) -> tuple[ApiToken, MachineToken]:
    """Create an API token of an admin; return its row and its token. It expires after 90 days by default.

    Raises ValidationError, Duplicate, TooManyApiTokens, Gone.
    """
    found = User.objects.filter(pk=maker.pk, is_admin=True, is_active=True).first()
    if found is None:
        raise Gone(_("the user was deleted in the meantime"))
    maker = found
    if maker.api_tokens.count() >= MAX_API_TOKENS:
        raise TooManyApiTokens(f"an admin has at most {MAX_API_TOKENS} API tokens: delete one that is not needed")
    at, token = timezone.now(), new_token(API_TOKEN_PREFIX)
    row = ApiToken(
        user=maker,
        name=name,
        created_by=maker.username,
        prefix=token.prefix,
        digest=token.digest,
        scopes=[scope.value for scope in Scope if scope in scopes],
        networks=list(dict.fromkeys(networks)),
        expires_at=at + USUAL_LIFE if expires_at is None else _checked_expiry(expires_at, at),
    )
    rows.check_and_save(row, repr(row.name))
    revisions.advance(actor=maker.username, changes=[difference(None, describe(row))])
    return row, token


def revoke(row: ApiToken, *, actor: str) -> None:
    """Revoke and delete an API token. Raises Gone."""
    rows.delete(row, actor=actor)


def record_use(row: ApiToken, at: datetime) -> None:
    """Store the time of a use, at most once a minute."""
    earlier = Q(last_used_at=None) | Q(last_used_at__lte=at - USES_APART)
    if row.last_used_at is None or row.last_used_at <= at - USES_APART:
        ApiToken.objects.filter(earlier, pk=row.pk).update(last_used_at=at)


def _checked_expiry(expires_at: datetime, at: datetime) -> datetime:
    if not at < expires_at <= at + LONGEST_LIFE:
        words = gettext_lazy("an API token expires in the future, in at most %(days)s days")
        raise ValidationError({"expires_at": ValidationError(words, "invalid", {"days": LONGEST_LIFE.days})})
    return expires_at
