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
    """There is such an entry already."""

    code = "duplicate"


class DomainRemoved(Conflict):
    """The domain was registered when the request was read, and is no more."""

    code = "domain-removed"


def deletion(row: models.Model) -> Change | None:
    """Return the change that deleting this row is."""
    return difference(describe(row), None)


def write(row: models.Model, **values: Any) -> Change | None:
    """Set the values and write the row, for a service that makes the revision; return what changed.

    Raises ValidationError, Duplicate, DomainRemoved.
    """
    if values.get("domain"):
        [values["domain"]] = still_registered([values["domain"]])
    before = describe(row) if row.pk else None
    for name, value in values.items():
        setattr(row, name, value)
    row.full_clean(validate_unique=False, validate_constraints=False)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise Duplicate(_("%(row)s is there already"), row=row) from None
    return difference(before, describe(row))


def save(row: models.Model, *segments: str, actor: str, replaced: Iterable[Change | None] = (), **values: Any) -> None:
    """Set the values and write the row with the next revision, which changes these segments.

    Raises ValidationError, Duplicate, DomainRemoved.
    """
    changed = write(row, **values)
    revisions.advance(*segments, actor=actor, changes=[*replaced, changed])


@revisions.one_at_a_time
def delete(row: models.Model, *segments: str, actor: str) -> None:
    """Delete the row with the next revision. Raises Gone."""
    row = revisions.as_it_is_now(row)
    gone = deletion(row)
    row.delete()
    revisions.advance(*segments, actor=actor, changes=[gone])


def replace_expired(entries: models.QuerySet[Any]) -> list[Change | None]:
    """Delete those of the entries that have expired; return what became of them."""
    expired = list(entries.filter(expires_at__lte=timezone.now()))
    gone = [deletion(entry) for entry in expired]
    entries.filter(pk__in=[entry.pk for entry in expired]).delete()
    return gone


def still_registered(domains: Iterable[AuthorizedDomain]) -> list[AuthorizedDomain]:
    """Return the domains as they are now, for a service that holds the head. Raises DomainRemoved if one is gone."""
    wanted = {domain.pk for domain in domains}
    found = list(AuthorizedDomain.objects.filter(pk__in=wanted))
    if len(found) != len(wanted):
        raise DomainRemoved(_("a domain that was named is not registered any more"))
    return found
