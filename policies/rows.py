"""Write policy rows together with the revision that records the change. For services."""

from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import Change, describe, difference
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies.models import AuthorizedDomain


class Duplicate(Conflict):
    """An equal entry exists already."""

    code = "duplicate"


class DomainRemoved(Conflict):
    """The domain was removed since the request was read."""

    code = "domain-removed"


def deletion(row: models.Model) -> Change | None:
    """Return the change of deleting this row."""
    return difference(describe(row), None)


def write(row: models.Model, **values: Any) -> Change | None:
    """Set the values and save the row, for a service that creates the revision; return the change.

    Raises ValidationError, Duplicate, DomainRemoved.
    """
    if values.get("domain"):
        [values["domain"]] = still_registered([values["domain"]])
    before = describe(row) if row.pk else None
    for name, value in values.items():
        setattr(row, name, value)
    check_and_save(row, row)
    return difference(before, describe(row))


def check_and_save(row: models.Model, shown: object) -> None:
    """Validate and save the row, for a service that creates the revision. Raises ValidationError, Duplicate.

    ``shown`` names the row in the message of ``Duplicate``.
    """
    row.full_clean(validate_unique=False, validate_constraints=False)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise Duplicate(_("%(row)s already exists"), row=shown) from None


def save(row: models.Model, *segments: str, actor: str, replaced: Iterable[Change | None] = (), **values: Any) -> None:
    """Set the values and save the row in a new revision that changes these segments.

    Raises ValidationError, Duplicate, DomainRemoved.
    """
    changed = write(row, **values)
    revisions.advance(*segments, actor=actor, changes=[*replaced, changed])


@revisions.one_at_a_time
def delete(row: models.Model, *segments: str, actor: str) -> None:
    """Delete the row in a new revision. Raises Gone."""
    row = revisions.as_it_is_now(row)
    gone = deletion(row)
    row.delete()
    revisions.advance(*segments, actor=actor, changes=[gone])


def replace_expired(entries: models.QuerySet[Any]) -> list[Change | None]:
    """Delete the entries that have expired; return the changes."""
    expired = list(entries.filter(expires_at__lte=timezone.now()))
    gone = [deletion(entry) for entry in expired]
    entries.filter(pk__in=[entry.pk for entry in expired]).delete()
    return gone


def still_registered(domains: Iterable[AuthorizedDomain]) -> list[AuthorizedDomain]:
    """Re-read the domains under the lock. Raises DomainRemoved if one is gone."""
    ids = {domain.pk for domain in domains}
    rows = list(AuthorizedDomain.objects.filter(pk__in=ids))
    if len(rows) != len(ids):
        raise DomainRemoved(_("a domain in the request is no longer registered"))
    return rows
