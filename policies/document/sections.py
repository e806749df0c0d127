"""The sections of a policy document: each is derived from its resource, its model and its serializer."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import models
from django.db.models import Q, QuerySet
from django.utils import timezone
from rest_framework.serializers import ChoiceField

from gatewall.api.serializers import StrictInput
from gatewall.api.settings_input import SettingsInput
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.kernel.changes import describe, plain
from gatewall.models import SystemSettings
from policies import resources, serializers
from policies.access_conditions import MAX_RULES
from policies.document.checks import check_access_rule, check_subscription, check_waf_rule
from policies.document.expectations import MAX_EXPECTATIONS, ExpectationInput, shown_request
from policies.document.fields import row_serializer
from policies.groups.services import MAX_GROUPS
from policies.models import MANUAL, Expectation, WafRule
from policies.rules.builtin import values_of
from policies.rules.serializers import WafRuleInput
from policies.validators import MAX_CUSTOM_RULES

SETTINGS = "settings"
MAX_ROWS = 50_000
"""Maximum number of rows of a section: longer lists belong to a list subscription."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section that is a list of rows.

    ``key``: fields that identify a row, and by which rows are sorted (``ordered``: their order counts instead).
    ``rows``: the rows that belong to the section; with ``expires`` only those that have not expired.
    ``defaults_of``: defaults of a row, if not those of the columns. ``names``: fields that name other rows, and their
    kind. ``check`` raises ValidationError, by field, for what the service refuses and the serializer does not.
    """

    name: str
    title: str
    model: Any
    serializer: Callable[[], StrictInput]
    key: tuple[str, ...]
    ordered: bool = False
    expires: bool = False
    at_most: int = MAX_ROWS
    rows: Q = field(default_factory=Q)
    defaults_of: Callable[[str], Mapping[str, Any]] | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Mapping[str, Any]], None] | None = None

    @cached_property
    def input(self) -> StrictInput:
        """Return the serializer of a row."""
        return self.serializer()

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Return the fields of a row in the order of the document: the key first, then as revisions record them."""
        recorded = [name for name in self.model.recorded.fields if name in self.input.fields]
        return (*self.key, *(name for name in recorded if name not in self.key))

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """Return the attribute of the stored row for each field."""
        return {
            name: self.model.recorded.fields.get(name) or str(self.input.fields[name].source) for name in self.fields
        }

    @cached_property
    def column_defaults(self) -> Mapping[str, Any]:
        """Return the defaults of the columns of all fields but the key."""
        columns = {name: self.model._meta.get_field(self.attributes[name]) for name in self.fields}  # noqa: SLF001 - documented API
        return {name: _default_of(column) for name, column in columns.items() if name not in self.key}

    def defaults(self, key: Any) -> Mapping[str, Any]:
        """Return the defaults of the fields that a row with this key may omit in a document."""
        return self.column_defaults if self.defaults_of is None else self.defaults_of(key[0])

    def key_of(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.key)

    def key_of_row(self, row: Any) -> tuple[Any, ...]:
        """Return the key of a stored row."""
        return tuple(plain(getattr(row, self.attributes[name])) for name in self.key)

    def in_order(self, rows: Mapping[Any, Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
        """Return the rows in canonical order."""
        return rows.values() if self.ordered else [rows[key] for key in sorted(rows, key=_sortable)]

    def shown(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return a row as a document shows it, without the fields that have their default."""
        defaults = self.defaults(self.key_of(row))
        shown = {name: row[name] for name in self.fields if name not in defaults or row[name] != defaults[name]}
        return {name: shown_request(value) if name == "request" else _sorted(value) for name, value in shown.items()}

    def listed(self, rows: Mapping[Any, Mapping[str, Any]]) -> Mapping[Any, Mapping[str, Any]]:
        """Return the rows that a document lists: of built-in rules, only those that differ from the shipped ones."""
        if self.defaults_of is None:
            return rows
        return {key: row for key, row in rows.items() if len(self.shown(row)) > len(self.key)}

    def has_expired(self, row: Mapping[str, Any], at: datetime) -> bool:
        """Return whether a row of a document is an entry that has expired at this moment."""
        return self.expires and row["expires_at"] is not None and datetime.fromisoformat(row["expires_at"]) <= at

    def queryset(self, *, expired: bool = False) -> QuerySet[Any]:
        """Return the stored rows of the section; with ``expired`` also those that have expired."""
        found: QuerySet[Any] = self.model.objects.filter(self.rows)
        if self.expires and not expired:
            found = found.exclude(expires_at__lte=timezone.now())
        columns = self.model.recorded.fields
        found = found.select_related("domain") if "domain" in columns else found
        return found.prefetch_related(*self.model.recorded.relations)

    def row_of(self, row: Any) -> dict[str, Any]:
        """Return the fields of a stored row."""
        values = describe(row).fields
        found = {name: values.get(name, getattr(row, attribute)) for name, attribute in self.attributes.items()}
        return {
            name: sorted(each) if name in self.names and isinstance(each, list) else each
            for name, each in found.items()
        }

    def row_from(self, validated: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a row that the serializer validated, with the defaults of omitted fields."""
        given = {name: plain(validated[source]) for name, source in self._sources.items() if source in validated}
        key = tuple(given.get(name) for name in self.key)
        return {name: given.get(name, self.defaults(key).get(name)) for name in self.fields}

    @cached_property
    def _sources(self) -> Mapping[str, str]:
        return {name: str(self.input.fields[name].source) for name in self.fields}

    def values_for(self, row: Mapping[str, Any], names: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the arguments of the services; ``names``: the rows that fields can name, by kind and name."""
        return {self.attributes[name]: self._value_for(name, value, names) for name, value in row.items()}

    def _value_for(self, name: str, value: Any, names: Mapping[str, Mapping[str, Any]]) -> Any:
        if value is None:
            return None
        if name in self.names:
            rows = names[self.names[name]]
            return [rows[each] for each in value] if isinstance(value, list) else rows[value]
        return datetime.fromisoformat(value) if name == "expires_at" else value


def _default_of(column: Any) -> Any:
    if isinstance(column, models.ManyToManyField):
        return []
    return plain(column.get_default()) if column.has_default() or not column.null else None


def _sorted(value: Any) -> Any:
    """Return the value with sorted keys of objects: a database may store them in any order."""
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def _sortable(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((each is not None, each) for each in key)


SHIPPED = {rule.key: values_of(rule) for rule in BUILTIN_RULES}
"""The fields of the built-in rules of this version, by key."""
_BUILTIN_FIXED = ("pattern", "operator")


def _shipped(key: str) -> Mapping[str, Any]:
    """Return the shipped fields of a built-in rule."""
    columns = BUILTIN_WAF_RULES.column_defaults
    return {**columns, "name": key, **{name: each for name, each in SHIPPED[key].items() if name in columns}}


DOMAINS = Section(
    name="domains",
    title="The domains",
    model=resources.DOMAINS.model,
    serializer=lambda: row_serializer(serializers.AuthorizedDomainInput),
    key=("name",),
)
GROUPS = Section(
    name="groups",
    title="The groups of users, without their members",
    model=resources.GROUPS.model,
    serializer=lambda: row_serializer(resources.GROUPS.draft),
    key=("name",),
    at_most=MAX_GROUPS,
    names={"authorized_domains": "domains"},
)
ACCESS_RULES = Section(
    name="access_rules",
    title="The access rules; their order counts",
    model=resources.ACCESS_RULES.model,
    serializer=lambda: row_serializer(resources.ACCESS_RULES.draft),
    key=("name",),
    ordered=True,
    at_most=MAX_RULES,
    names={"domains": "domains", "groups": "groups", "users": "users"},
    check=check_access_rule,
)
BLOCKLIST = Section(
    name="blocklist",
    title="The blocked networks that were entered by hand",
    model=resources.BLOCKLIST.model,
    serializer=lambda: row_serializer(serializers.BlocklistEntryInput),
    key=("ip",),
    rows=Q(source=MANUAL),
    expires=True,
)
ALLOWLIST = Section(
    name="allowlist",
    title="The allowed networks",
    model=resources.ALLOWLIST.model,
    serializer=lambda: row_serializer(serializers.AllowlistEntryInput),
    key=("ip", "domain"),
    expires=True,
    names={"domain": "domains"},
)
COUNTRIES = Section(
    name="countries",
    title="The blocked countries",
    model=resources.COUNTRIES.model,
    serializer=lambda: row_serializer(serializers.GeoBlockRuleInput),
    key=("country_code",),
)
WAF_RULES = Section(
    name="waf_rules",
    title="The custom WAF rules",
    model=WafRule,
    serializer=lambda: row_serializer(WafRuleInput),
    key=("name",),
    at_most=MAX_CUSTOM_RULES,
    rows=Q(builtin_key__isnull=True),
    names={"domain": "domains"},
    check=check_waf_rule,
)
BUILTIN_WAF_RULES = Section(
    name="builtin_waf_rules",
    title="The built-in WAF rules that differ from the shipped ones",
    model=WafRule,
    serializer=lambda: row_serializer(
        WafRuleInput,
        without=_BUILTIN_FIXED,
        optional=("name",),
        key=ChoiceField(choices=[*SHIPPED], source="builtin_key"),
    ),
    key=("key",),
    at_most=len(BUILTIN_RULES),
    rows=Q(builtin_key__in=[*SHIPPED]),
    defaults_of=_shipped,
    names={"domain": "domains"},
)
SUBSCRIPTIONS = Section(
    name="list_subscriptions",
    title="The subscriptions to published block lists",
    model=resources.SUBSCRIPTIONS.model,
    serializer=lambda: row_serializer(serializers.ListSubscriptionInput),
    key=("name",),
    check=check_subscription,
)
EXPECT = Section(
    name="expect",
    title="Requests with the answer that they must get under this policy",
    model=Expectation,
    serializer=lambda: row_serializer(ExpectationInput),
    key=("name",),
    at_most=MAX_EXPECTATIONS,
)
SECTIONS = (
    *(DOMAINS, GROUPS, ACCESS_RULES, BLOCKLIST, ALLOWLIST, COUNTRIES),
    *(WAF_RULES, BUILTIN_WAF_RULES, SUBSCRIPTIONS, EXPECT),
)
"""The sections in the order of the document, after ``version`` and ``settings``."""
BY_NAME = {section.name: section for section in SECTIONS}


def settings_input() -> StrictInput:
    """Return the serializer of the settings."""
    return SettingsInput()


def setting_defaults() -> dict[str, Any]:
    """Return the defaults of all settings."""
    return {column.name: plain(column.get_default()) for column in SystemSettings.columns()}
