"""Create, change and delete grants; checks that share links and device passes have in common with them."""

from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from gatewall.engine.hosts import Access
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import Change
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies import rows
from policies.access_rules.services import UserRemoved
from policies.grant_limits import MAX_GRANTS, require_valid_end
from policies.groups.members import still_existing
from policies.models import AuthorizedDomain, Grant


class TooManyGrants(Conflict):
    """The maximum number of grants is reached."""

    code = "too-many-grants"


class GrantOverruled(Conflict):
    """The access of the domain, or of the user, rules out this grant, share link or device pass."""

    code = "grant-overruled"


@revisions.one_at_a_time
def create_grant(*, actor: str, domain: AuthorizedDomain, expires_at: datetime, **values: Any) -> Grant:
    """Create a grant that lets a ``user`` or ``group`` into a domain until ``expires_at``; no job has to end it.

    If the maximum number is reached, expired grants are deleted first.
    Raises ValidationError, GrantOverruled, TooManyGrants, DomainRemoved, GroupRemoved, UserRemoved.
    """
    values |= {"domain": domain, "expires_at": expires_at}
    grant = Grant(created_by=actor)
    _refuse_contradictions(grant, values)
    rows.save(grant, *Grant.segments, actor=actor, replaced=_room_for_one(), **values)
    return grant


@revisions.one_at_a_time
def change_grant(grant: Grant, *, actor: str, **values: Any) -> Grant:
    """Update a grant. Raises ValidationError, GrantOverruled, DomainRemoved, GroupRemoved, UserRemoved, Gone."""
    grant = revisions.as_it_is_now(grant)
    _refuse_contradictions(grant, values)
    rows.save(grant, *Grant.segments, actor=actor, **values)
    return grant


def delete_grant(grant: Grant, *, actor: str) -> None:
    """Delete a grant: it ends at once. Raises Gone."""
    rows.delete(grant, *Grant.segments, actor=actor)


def _refuse_contradictions(grant: Grant, values: dict[str, Any]) -> None:
    if "expires_at" in values:
        require_valid_end(values["expires_at"])
    _require_one_holder(values.get("user", grant.user), values.get("group", grant.group))
    if values.get("user") and not get_user_model().objects.filter(pk=values["user"].pk).exists():
        raise UserRemoved(_("a user in the request no longer exists"))
    if values.get("group"):
        still_existing([values["group"]])
    if "domain" in values:
        refuse_denied(values["domain"])


def _require_one_holder(user: Any, group: Any) -> None:
    if (user is None) == (group is None):
        error = ValidationError(gettext_lazy("a grant is for either a user or a group"), "invalid")
        raise ValidationError({"user": error, "group": error})


def refuse_denied(domain: AuthorizedDomain) -> None:
    """Raise GrantOverruled if the stored access of the domain is ``denied``. Raises DomainRemoved."""
    [domain] = rows.still_registered([domain])
    if domain.access == Access.DENIED:
        raise GrantOverruled(
            _("access to %(domain)s is denied, which overrides every grant: change that first"),
            domain=domain.name,
        )


def room_for_one(entries: QuerySet[Any], most: int) -> list[Change | None] | None:
    """Delete expired rows if the maximum is reached; return the changes, None if there is no room for another row."""
    return [] if entries.count() < most else rows.replace_expired(entries) or None


def _room_for_one() -> list[Change | None]:
    gone = room_for_one(Grant.objects.all(), MAX_GRANTS)
    if gone is None:
        raise TooManyGrants(
            _("there are %(number)s grants already, and none has ended: delete some first"), number=f"{MAX_GRANTS:,}"
        )
    return gone
