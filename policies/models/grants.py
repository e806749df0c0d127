"""Grants."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record
from policies import access_conditions as conditions
from policies.models.domains import AuthorizedDomain
from policies.models.groups import Group


class Grant(Record):
    """Access to a domain, or to a path of it, until ``expires_at``, in addition to scope and access rules.

    The holder is a user or a group; a grant for a group applies to the members at the time of a request.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="grants"
    )
    group = models.ForeignKey(Group, on_delete=models.CASCADE, null=True, blank=True, related_name="grants")
    # Cascade: without its domain, the grant would apply to every host.
    domain = models.ForeignKey(AuthorizedDomain, on_delete=models.CASCADE, related_name="grants")
    path_prefix = models.CharField(max_length=500, null=True, blank=True, validators=[conditions.validate_path_prefix])
    methods: "models.JSONField[list[str], list[str]]" = models.JSONField(
        default=list, blank=True, validators=[conditions.validate_methods]
    )
    expires_at = models.DateTimeField()
    reason = models.CharField(max_length=500, blank=True)
    decision_id = models.UUIDField(null=True, blank=True, editable=False)

    recorded = Recorded(
        Resource.GRANTS,
        api_fields("user_id", "group_id", "domain", "path_prefix", "methods", "expires_at", "reason", "decision_id"),
    )
    segments = (Segment.GRANTS,)

    class Meta:
        verbose_name = _("grant")
        verbose_name_plural = _("grants")
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(user__isnull=False, group__isnull=True)
                | models.Q(user__isnull=True, group__isnull=False),
                name="grant_has_one_holder",
            ),
        ]

    def __str__(self) -> str:
        holder = f"group {self.group}" if self.group else self.user
        return f"{holder} {self.domain}{self.path_prefix or ''}"
