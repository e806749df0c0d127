"""Entries of the blocklist and the allowlist."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.segments import blocked_networks_of
from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record
from policies import validators
from policies.models.domains import AuthorizedDomain

MANUAL = "manual"
AUTO_BAN = "auto-ban"


class BlocklistEntry(Record):
    """A blocked network. Only a ``manual`` entry overrides an allowlist entry."""

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
        verbose_name = _("blocklist entry")
        verbose_name_plural = _("blocklist entries")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["network", "source"], name="blocked_network_is_unique_per_source")
        ]
        indexes = [
            models.Index(fields=["source", "expires_at"], name="blocked_network_by_source"),
            # For pages of a list of a million entries: by the sort columns, and by source in the default order.
            models.Index(fields=["source", "id"], name="blocked_network_source_in_turn"),
            models.Index(fields=["created_at", "id"], name="blocked_network_by_creation"),
            models.Index(fields=["expires_at", "id"], name="blocked_network_by_expiry"),
        ]

    def __str__(self) -> str:
        return self.network

    @property
    def segments(self) -> tuple[str, ...]:
        """Return the segment in which the entry is published."""
        return (blocked_networks_of(self.source),)


class AllowlistEntry(Record):
    """A network that needs no credential, on one domain or (null) on every host."""

    network = models.CharField(max_length=43, validators=[validators.validate_network])
    # Cascade: without its domain, the entry would apply to every host.
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
        verbose_name = _("allowlist entry")
        verbose_name_plural = _("allowlist entries")
        ordering = ["id"]
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
