"""A change of policy that somebody thinks of: of one row, in the words of the API's own resources.

It is read by the serializers of those resources and made by their services, so that a draft is refused where the
change itself would be, in the same words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers

from accounts import selectors as accounts
from accounts import services as account_services
from gatewall.api.serializers import FlagField, StrictInput
from gatewall.engine.hosts import Access
from gatewall.kernel.changes import Resource
from gatewall.kernel.clientip import Caller
from licensing import selectors as licensing
from licensing import services as license_services
from policies import selectors, services
from policies.serializers import (
    AllowlistEntryInput,
    AuthorizedDomainInput,
    BlocklistEntryInput,
    GeoBlockRuleInput,
    RegisteredDomainsField,
    WafRuleInput,
)


class Change(StrEnum):
    """What becomes of the row."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Draft:
    """A change of one row: ``values`` as they would be sent to the resource, ``id`` of the row that there is."""

    resource: str
    change: Change
    id: int | None
    values: Mapping[str, Any]
    force: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the draft as it is kept."""
        return {"change": self.change.value, "id": self.id, "values": dict(self.values), "force": self.force}


class ScopeInput(StrictInput):
    """Where a user or license may go, as sent."""

    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)


@dataclass(frozen=True, slots=True)
class Kind:
    """How rows of one resource are read, found and written; a way of writing that is None is none of this kind.

    ``guards``: which ways take the caller and ``force``, for they may shut them out; ``forces``: which take ``force``
    alone. ``note``: the field for words.
    """

    input: type[StrictInput]
    rows: Callable[[], QuerySet[Any]]
    create: Callable[..., Any] | None
    update: Callable[..., Any] | None
    delete: Callable[..., Any] | None
    guards: frozenset[Change] = frozenset()
    forces: frozenset[Change] = frozenset()
    note: str = "remark"


def _users() -> QuerySet[Any]:
    return accounts.users(timezone.now())


_register = partial(services.register_domain, access=Access.AUTHENTICATED.value)
_BOTH = frozenset({Change.CREATE, Change.UPDATE})
KINDS: Mapping[str, Kind] = {
    Resource.WAF_RULES: Kind(
        WafRuleInput,
        selectors.waf_rules,
        services.create_waf_rule,
        services.change_waf_rule,
        services.delete_waf_rule,
        forces=_BOTH,
        note="description",
    ),
    Resource.BLOCKLIST: Kind(
        BlocklistEntryInput,
        selectors.blocked_networks,
        services.block_network,
        services.change_blocked_network,
        services.unblock_network,
        guards=_BOTH,
    ),
    Resource.ALLOWLIST: Kind(
        AllowlistEntryInput,
        selectors.allowed_networks,
        services.allow_network,
        services.change_allowed_network,
        services.disallow_network,
        guards=frozenset({Change.UPDATE, Change.DELETE}),
    ),
    Resource.COUNTRIES: Kind(
        GeoBlockRuleInput, selectors.blocked_countries, services.block_country, None, services.unblock_country
    ),
    Resource.DOMAINS: Kind(
        AuthorizedDomainInput,
        selectors.authorized_domains,
        _register,
        services.change_domain,
        services.remove_domain,
        guards=frozenset(Change),
    ),
    Resource.USERS: Kind(ScopeInput, _users, None, account_services.change_user, None, note=""),
    Resource.LICENSES: Kind(ScopeInput, licensing.licenses, None, license_services.change_license, None, note=""),
}
"""What a draft may change, by the name of its resource."""


def read(draft: Draft) -> dict[str, Any]:
    """Return the values as the service takes them. Raises the serializer's ValidationError."""
    kind = KINDS[draft.resource]
    if getattr(kind, draft.change) is None:
        raise serializers.ValidationError({"change": f"{draft.resource} are not changed in this way"})
    if draft.change is Change.DELETE:
        if draft.values:
            raise serializers.ValidationError({"values": "what is deleted has no values"})
        return {}
    form = kind.input(data=dict(draft.values), partial=draft.change is Change.UPDATE)
    if not form.is_valid():
        raise serializers.ValidationError({"values": form.errors})
    return dict(form.validated_data)


def apply(draft: Draft, *, actor: str, caller: Caller | None, note: str = "", **other: Any) -> Any:
    """Make the change by the service of its resource; ``other`` values stand in the place of those of the draft.

    Returns the row, None where it was deleted. Raises the serializer's ValidationError and what the service raises.
    """
    kind, values = KINDS[draft.resource], {**read(draft), **other}
    values.pop("force", None)  # whose force counts is whoever applies the draft
    if draft.change in kind.guards:
        values |= {"caller": caller, "force": draft.force}
    elif draft.change in kind.forces:
        values |= {"force": draft.force}
    row = None if draft.change is Change.CREATE else row_of(draft)
    if note and kind.note and draft.change is not Change.DELETE:
        before = values.get(kind.note, getattr(row, kind.note, ""))
        values[kind.note] = _noted(before, note, 1000 if kind.note == "description" else 500)
    service = getattr(kind, draft.change)
    return service(actor=actor, **values) if row is None else service(row, actor=actor, **values)


def row_of(draft: Draft) -> Any:
    """Return the row that the draft changes. Raises the serializer's ValidationError."""
    row = KINDS[draft.resource].rows().filter(pk=draft.id).first()
    if row is None:
        raise serializers.ValidationError({"id": f"there is no such row of {draft.resource}"})
    return row


def _noted(text: str, note: str, limit: int) -> str:
    return f"{text} ({note})"[:limit] if text else note[:limit]
