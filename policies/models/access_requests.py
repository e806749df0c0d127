"""Access requests of refused users."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from policies.models.domains import AuthorizedDomain
from policies.models.grants import Grant


class RequestState(models.TextChoices):
    """State of an access request."""

    PENDING = "pending"
    GRANTED = "granted"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


WAITS = timedelta(days=7)
"""An undecided request expires after this time; the state is computed, so that no job has to run."""


class RequestForAccess(models.Model):
    """An access request of a refused user: the domain, the decision that refused them, and their reason.

    Access requests are not part of the policy, but resulting grants are. ``host`` and ``path``: of the decision.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_requests")
    domain = models.ForeignKey(AuthorizedDomain, on_delete=models.CASCADE, related_name="access_requests")
    decision_id = models.UUIDField()
    host = models.CharField(max_length=255)
    path = models.CharField(max_length=500)
    reason = models.CharField(max_length=500)
    asked_at = models.DateTimeField()
    decided = models.CharField(max_length=16, choices=RequestState, default=RequestState.PENDING)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.CharField(max_length=64, blank=True)
    answer = models.CharField(max_length=500, blank=True)
    grant = models.ForeignKey(Grant, on_delete=models.SET_NULL, null=True, related_name="requests")

    class Meta:
        verbose_name = _("request for access")
        verbose_name_plural = _("requests for access")
        ordering = ["-id"]
        indexes = [models.Index(fields=["decided", "asked_at"], name="access_request_by_state")]

    def __str__(self) -> str:
        return f"{self.user} {self.host}{self.path}"

    @property
    def state(self) -> str:
        """Return the current state: a request that was pending for too long is expired."""
        is_over = self.decided == RequestState.PENDING and self.asked_at + WAITS <= timezone.now()
        return str(RequestState.EXPIRED if is_over else self.decided)


def pending() -> "models.QuerySet[Any]":
    """Return the pending access requests, the oldest first."""
    rows = RequestForAccess.objects.filter(decided=RequestState.PENDING, asked_at__gt=timezone.now() - WAITS)
    return rows.select_related("user", "domain").order_by("asked_at", "id")
