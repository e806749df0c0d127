"""Registered domains."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.hosts import Access
from gatewall.engine.identity_headers import DEFAULT_HEADERS
from gatewall.engine.segments import NAMES_DOMAINS
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record, choices
from policies import validators


def default_identity_headers() -> list[str]:
    """Return the names of a new domain's identity headers."""
    return list(DEFAULT_HEADERS)


class AuthorizedDomain(Record):
    """A host, or ``*.host`` for all names below it, that visitors may request."""

    name = models.CharField(max_length=255, unique=True, validators=[validators.validate_domain_name])
    access = models.CharField(max_length=32, choices=choices(Access), default=Access.AUTHENTICATED.value)
    remark = models.CharField(max_length=500, blank=True)
    waf_monitor_until = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Until then the WAF refuses nothing at this domain: it records what it would refuse.",
    )
    identity_headers = models.JSONField(
        default=default_identity_headers,
        db_default=list(DEFAULT_HEADERS),
        blank=True,
        validators=[validators.validate_identity_headers],
        help_text="The request headers in which the site gets the user, e-mail address and groups of a visitor.",
    )
    waf_monitor_reported = models.DateTimeField(null=True, blank=True, editable=False)
    """The end of monitoring that an event last reported; not part of the policy."""

    recorded = Recorded(
        Resource.DOMAINS, api_fields("name", "access", "remark", "waf_monitor_until", "identity_headers")
    )
    segments = NAMES_DOMAINS

    class Meta:
        verbose_name = _("domain")
        verbose_name_plural = _("domains")
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(access__in=[access.value for access in Access]), name="domain_access_is_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name
