"""Access rules."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.hosts import Access
from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record, choices
from policies import access_conditions as conditions
from policies.models.domains import AuthorizedDomain
from policies.models.groups import Group


def _values(validate: Callable[[Any], None]) -> "models.JSONField[list[Any], list[Any]]":
    """Return the column of a condition that is a list; an empty one does not restrict."""
    return models.JSONField(default=list, blank=True, validators=[validate])


class AccessRule(Record):
    """Conditions on a request and its subject, and the access that the first matching rule asks for.

    ``position`` is 1..n without gaps. The rows of ``domains``, ``groups`` and ``users`` are conditions too: services
    that delete one of them disable the rules that would be left without a condition.
    """

    position = models.PositiveIntegerField(unique=True, validators=[MinValueValidator(1)])
    name = models.CharField(max_length=100, unique=True)
    enabled = models.BooleanField(default=True)
    access = models.CharField(max_length=32, choices=choices(Access))
    domains = models.ManyToManyField(AuthorizedDomain, blank=True, related_name="access_rules")
    paths = _values(conditions.validate_paths)
    methods = _values(conditions.validate_methods)
    networks = _values(conditions.validate_networks)
    countries = _values(conditions.validate_countries)
    asns = _values(conditions.validate_asns)
    weekdays = _values(conditions.validate_weekdays)
    from_time = models.CharField(max_length=5, null=True, blank=True, validators=[conditions.validate_time])
    until_time = models.CharField(max_length=5, null=True, blank=True, validators=[conditions.validate_time])
    time_zone = models.CharField(max_length=64, default="UTC", validators=[conditions.validate_time_zone])
    groups = models.ManyToManyField(Group, blank=True, related_name="access_rules")
    users = models.ManyToManyField(settings.AUTH_USER_MODEL, blank=True, related_name="access_rules")
    credential_kinds = _values(conditions.validate_credential_kinds)
    rate_per_minute = models.PositiveIntegerField(default=0, validators=[MaxValueValidator(1_000_000)])
    app_token_header = models.CharField(
        max_length=64, blank=True, default="", db_default="", validators=[conditions.validate_token_header]
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    remark = models.CharField(max_length=500, blank=True)

    recorded = Recorded(
        Resource.ACCESS_RULES,
        api_fields(
            *("position", "name", "enabled", "access", "domains", "paths", "methods", "networks", "countries", "asns"),
            *("weekdays", "time_zone", "groups", "users", "credential_kinds", "rate_per_minute", "expires_at"),
            *("app_token_header", "remark"),
            **{"from": "from_time", "until": "until_time"},
        ),
        relations=("domains", "groups", "users"),
    )
    segments = (Segment.ACCESS_RULES,)

    class Meta:
        verbose_name = _("access rule")
        verbose_name_plural = _("access rules")
        ordering = ["position"]
        constraints = [
            models.CheckConstraint(condition=models.Q(position__gte=1), name="access_rule_position_from_one"),
            models.CheckConstraint(
                condition=models.Q(access__in=[access.value for access in Access]), name="access_rule_access_is_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name
