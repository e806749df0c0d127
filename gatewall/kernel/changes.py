"""The change record of a policy revision: which objects were created, changed and deleted. No I/O.

Objects are described by the API's field names, in JSON-plain values. Only a model's ``recorded`` fields are kept:
passwords, digests and tokens are not among them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

MAX_CHANGES = 1000
"""A revision that changes more objects keeps only their counts."""


class Resource(StrEnum):
    """Kinds of policy objects, by their path segment in the API."""

    BLOCKLIST = "ip-black-list"
    ALLOWLIST = "ip-white-list"
    WAF_RULES = "waf-rules"
    DOMAINS = "authorized-domains"
    ACCESS_RULES = "access-rules"
    GRANTS = "grants"
    SHARE_LINKS = "share-links"
    COUNTRIES = "geo-block-rules"
    LICENSES = "licenses"
    GROUPS = "groups"
    USERS = "users"
    GIT_TOKENS = "users/git-tokens"
    APP_TOKENS = "users/app-tokens"
    DEVICE_PASSES = "users/device-passes"
    API_TOKENS = "api-tokens"
    SETTINGS = "system/settings"
    SUBSCRIPTIONS = "list-subscriptions"
    WEBHOOKS = "webhooks"
    IDENTITY_PROVIDERS = "identity-providers"
    EXPECTATIONS = "expectations"


DECIDING = (
    Resource.DOMAINS,
    Resource.COUNTRIES,
    Resource.BLOCKLIST,
    Resource.ALLOWLIST,
    Resource.WAF_RULES,
    Resource.ACCESS_RULES,
    Resource.GRANTS,
)
"""Resources that can decide a request: ``decided_by`` of an access record names one."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """How a revision records the rows of a model; each policy model has one as ``recorded``.

    ``fields`` maps API fields to attributes. Rows with equal ``same_entry`` columns are the same entry: undoing a
    deletion keeps a newer entry. ``relations`` lists the fields that name other rows: their ids are recorded too, as
    ``<field>_ids``, because a restore needs the rows, and a name may belong to another row by then.
    """

    resource: Resource
    fields: Mapping[str, str]
    same_entry: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()


def ids_of(relation: str) -> str:
    """Return the name of the recorded field with the ids of a relation."""
    return f"{relation}_ids"


def api_fields(*names: str, **renamed: str) -> dict[str, str]:
    """Return the recorded fields of a model; ``renamed`` maps API fields to attributes of other names."""
    return {**renamed, **{name: name for name in (*names, "created_at", "created_by")}}


class Action(StrEnum):
    """What a revision did to an object."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Described:
    """A policy object by its API name and fields."""

    resource: str
    id: int
    name: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """What a revision did to one object. A changed object has only the fields that differ, any other has all."""

    resource: str
    id: int
    name: str
    action: Action
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Diff:
    """Changes of a revision (None if too many), and their counts by resource and action."""

    changes: list[dict[str, Any]] | None
    counts: list[dict[str, Any]]


def describe(row: Any) -> Described:
    """Return the recorded fields of a row."""
    values = {name: plain(getattr(row, attribute)) for name, attribute in row.recorded.fields.items()}
    for name in row.recorded.relations:
        values[ids_of(name)] = [related.pk for related in getattr(row, name).all()]
    return Described(row.recorded.resource, row.pk, str(row), values)


def difference(
    before: Described | None, after: Described | None, *, noted: Mapping[str, str] | None = None
) -> Change | None:
    """Return the change of an object, or None if nothing changed.

    None as ``before`` or ``after``: the object did not exist. ``noted`` marks changes of fields
    that are never shown: ``{"password": "changed"}``.
    """
    if before is None:
        if after is None:
            return None
        return Change(after.resource, after.id, after.name, Action.CREATED, {}, after.fields)
    if after is None:
        return Change(before.resource, before.id, before.name, Action.DELETED, before.fields, {})
    differing = [name for name, value in after.fields.items() if before.fields.get(name) != value]
    if not differing and not noted:
        return None
    old, new = ({name: side.fields.get(name) for name in differing} for side in (before, after))
    return Change(after.resource, after.id, after.name, Action.CHANGED, old, {**new, **(noted or {})})


def merged(changes: Iterable[Change | None]) -> list[Change]:
    """Return one change for each object, from its state before its first change to its state after its last.

    An object that ends as it began is left out. Objects are in the order of their first changes.
    """
    found: dict[tuple[str, int], Change | None] = {}
    for change in changes:
        if change is not None:
            key = change.resource, change.id
            found[key] = _followed_by(found.get(key), change)
    return [change for change in found.values() if change is not None]


def _followed_by(earlier: Change | None, later: Change) -> Change | None:
    if earlier is None:
        return later
    if earlier.action == Action.CREATED:
        if later.action == Action.DELETED:
            return None
        return replace(later, action=Action.CREATED, before={}, after={**earlier.after, **later.after})
    before = {**later.before, **earlier.before}
    if later.action == Action.DELETED:
        return replace(later, before=before)
    after = {**earlier.after, **later.after}
    same = {name for name, value in before.items() if name in after and after[name] == value}
    if after.keys() <= same:
        return None
    old, new = ({name: value for name, value in side.items() if name not in same} for side in (before, after))
    return replace(later, action=Action.CHANGED, before=old, after=new)


def diff_of(changes: Iterable[Change | None]) -> Diff:
    """Return the changes as a revision stores them; streams its input."""
    kept: list[dict[str, Any]] | None = []
    numbers: Counter[tuple[str, str, str]] = Counter()
    for change in changes:
        if change is None:
            continue
        numbers[change.resource, change.action, source_of(change)] += 1
        if kept is not None:
            kept.append(asdict(change))
        if kept is not None and len(kept) > MAX_CHANGES:
            kept = None
    counts = [
        {"resource": resource, **({"source": source} if source else {}), "action": action, "count": number}
        for (resource, action, source), number in sorted(numbers.items())
    ]
    return Diff(kept, counts)


def source_of(change: Change) -> str:
    """Return the source of a created or deleted blocklist entry, else empty."""
    return str(change.after.get("source") or change.before.get("source") or "")


def plain(value: Any) -> Any:
    """Return a row's value in JSON-plain form, as revisions record it."""
    if isinstance(value, datetime):  # to the microsecond, so that a restore is exact
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, StrEnum):
        return value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if hasattr(value, "all"):
        return [str(row) for row in value.all()]
    return str(value)  # a related row, by its name
