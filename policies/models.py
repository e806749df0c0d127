"""IP lists, countries, WAF rules and authorized domains."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone

from gatewall.engine.hosts import Access
from gatewall.engine.model import Action
from gatewall.engine.segments import NAMES_DOMAINS, blocked_networks_of
from gatewall.engine.snapshot import Segment
from gatewall.engine.waf.rules import Category, Operator, Severity, Target
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record, choices
from policies import validators
from policies.list_files.parsing import Format

MANUAL = "manual"
AUTO_BAN = "auto-ban"


def default_targets() -> list[str]:
    """Return the default targets of a WAF rule."""
    return [Target.URI.value]


class AuthorizedDomain(Record):
    """A host, or ``*.host`` for all names below it, that visitors may request."""

    name = models.CharField(max_length=255, unique=True, validators=[validators.validate_domain_name])
    access = models.CharField(max_length=16, choices=choices(Access), default=Access.AUTHENTICATED.value)
    remark = models.CharField(max_length=500, blank=True)

    recorded = Recorded(Resource.DOMAINS, api_fields("name", "access", "remark"))
    segments = NAMES_DOMAINS

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(access__in=[access.value for access in Access]), name="domain_access_is_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class BlocklistEntry(Record):
    """A network that is blocked. Only a ``manual`` entry beats an allowlist entry."""

    network = models.CharField(max_length=43, validators=[validators.validate_network])
    remark = models.CharField(max_length=500, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    source = models.CharField(max_length=64, default=MANUAL, editable=False, validators=[validators.validate_source])

    recorded = Recorded(
        Resource.BLOCKLIST,
        api_fields("remark", "expires_at", "source", ip="network"),
        same_entry=("network", "source"),
    )

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "blocklist entries"
        constraints = [
            models.UniqueConstraint(fields=["network", "source"], name="blocked_network_is_unique_per_source")
        ]
        indexes = [
            models.Index(fields=["source", "expires_at"], name="blocked_network_by_source"),
            # A page of a million: what it is ordered by, and its source in the usual order.
            models.Index(fields=["source", "id"], name="blocked_network_source_in_turn"),
            models.Index(fields=["created_at", "id"], name="blocked_network_by_creation"),
            models.Index(fields=["expires_at", "id"], name="blocked_network_by_expiry"),
        ]

    def __str__(self) -> str:
        return self.network

    @property
    def segments(self) -> tuple[str, ...]:
        """The segment the entry is published in."""
        return (blocked_networks_of(self.source),)


class AllowlistEntry(Record):
    """A network that needs no credential, on one domain or (null) on every host."""

    network = models.CharField(max_length=43, validators=[validators.validate_network])
    # Cascade: without its domain, the entry would hold for every host.
    domain = models.ForeignKey(
        AuthorizedDomain, on_delete=models.CASCADE, null=True, blank=True, related_name="allowlist_entries"
    )
    inspect = models.BooleanField(default=False, help_text="Check the country and the WAF rules anyway.")
    remark = models.CharField(max_length=500, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    recorded = Recorded(
        Resource.ALLOWLIST,
        api_fields("domain", "inspect", "remark", "expires_at", ip="network"),
        same_entry=("network", "domain_id"),
    )
    segments = (Segment.ALLOWED_NETWORKS,)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "allowlist entries"
        constraints = [
            models.UniqueConstraint(fields=["network", "domain"], name="allowed_network_is_unique_per_domain"),
            models.UniqueConstraint(
                fields=["network"],
                condition=models.Q(domain__isnull=True),
                name="network_allowed_everywhere_is_unique",
            ),
        ]

    def __str__(self) -> str:
        return self.network


class GeoBlockRule(Record):
    """A blocked country."""

    country_code = models.CharField(max_length=2, unique=True, validators=[validators.validate_country_code])
    remark = models.CharField(max_length=500, blank=True)

    recorded = Recorded(Resource.COUNTRIES, api_fields("country_code", "remark"))
    segments = (Segment.BLOCKED_COUNTRIES,)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.country_code


class WafRule(Record):
    """A pattern that is searched in requests. A row with a ``builtin_key`` is a built-in rule."""

    name = models.CharField(max_length=100, unique=True)
    pattern = models.TextField(max_length=4096)
    operator = models.CharField(max_length=16, choices=choices(Operator), default=Operator.REGEX.value)
    targets = models.JSONField(default=default_targets, validators=[validators.validate_targets])
    transforms = models.JSONField(default=list, blank=True, validators=[validators.validate_transforms])
    category = models.CharField(max_length=16, choices=choices(Category), default=Category.CUSTOM.value)
    severity = models.CharField(max_length=16, choices=choices(Severity), default=Severity.MEDIUM.value)
    score = models.PositiveSmallIntegerField(default=5, validators=[MinValueValidator(1), MaxValueValidator(10)])
    action = models.CharField(max_length=16, choices=choices(Action), default=Action.BLOCK.value)
    priority = models.PositiveIntegerField(default=100, validators=[MaxValueValidator(1_000_000)])
    enabled = models.BooleanField(default=True)
    # Cascade: without its domain, the rule would refuse requests on every host.
    domain = models.ForeignKey(
        AuthorizedDomain, on_delete=models.CASCADE, null=True, blank=True, related_name="waf_rules"
    )
    path_prefix = models.CharField(max_length=500, null=True, blank=True, validators=[validators.validate_path_prefix])
    exclusions = models.JSONField(default=list, blank=True, validators=[validators.validate_exclusions])
    description = models.CharField(max_length=1000, blank=True)
    builtin_key = models.CharField(max_length=64, null=True, unique=True, editable=False)

    recorded = Recorded(
        Resource.WAF_RULES,
        api_fields(
            *("name", "pattern", "operator", "targets", "transforms", "category", "severity", "score", "action"),
            *("priority", "enabled", "path_prefix", "exclusions", "description", "builtin", "domain"),
        ),
    )
    segments = (Segment.WAF_RULES,)

    class Meta:
        ordering = ["priority", "id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(score__gte=1, score__lte=10), name="waf_score_in_range"),
            models.CheckConstraint(
                condition=models.Q(action__in=[action.value for action in Action]), name="waf_action_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(operator__in=[operator.value for operator in Operator]),
                name="waf_operator_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def builtin(self) -> bool:
        """Return whether the rule is built in: its pattern is fixed and it cannot be deleted."""
        return self.builtin_key is not None


class ListSubscription(Record):
    """A published block list that is fetched regularly; each download replaces the entries of the last one.

    The fields from ``next_at`` on are the state of fetching, written by the fetching host without a revision.
    """

    name = models.CharField(max_length=50, unique=True, validators=[validators.validate_list_name])
    url = models.CharField(max_length=1000, validators=[validators.validate_list_url])
    format = models.CharField(max_length=16, choices=choices(Format), default=Format.AUTO.value)
    interval_minutes = models.PositiveIntegerField(
        default=1440, validators=[MinValueValidator(15), MaxValueValidator(43_200)]
    )
    enabled = models.BooleanField(default=True)
    allow_private = models.BooleanField(default=False, help_text="Allow http and addresses that are not public.")
    remark = models.CharField(max_length=500, blank=True)
    next_at = models.DateTimeField(default=timezone.now, editable=False)
    tried_at = models.DateTimeField(null=True, editable=False)
    succeeded_at = models.DateTimeField(null=True, editable=False)
    failure = models.CharField(max_length=500, blank=True, editable=False)
    failures = models.PositiveIntegerField(default=0, editable=False)
    entries = models.PositiveIntegerField(null=True, editable=False)
    tag = models.CharField(max_length=200, blank=True, editable=False)

    recorded = Recorded(
        Resource.SUBSCRIPTIONS,
        api_fields("name", "url", "format", "interval_minutes", "enabled", "allow_private", "remark"),
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(interval_minutes__gte=15, interval_minutes__lte=43_200),
                name="list_interval_in_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name


RESTORABLE = (AuthorizedDomain, BlocklistEntry, AllowlistEntry, GeoBlockRule, WafRule)
"""The models a restore covers, domains first, because other rows refer to them.

``recorded`` describes a row in a revision; ``segments`` are compiled again after a change of a row.
"""
