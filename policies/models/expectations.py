"""Expectations of the policy document: requests with the answer that they must get."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.model import Effect, Reason
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record, choices


class Expectation(Record):
    """A request and the effect, and optionally the reason, of its decision under the policy of the document.

    Stored with the policy so that exports include it; plans evaluate it. An expectation changes no decision.
    """

    name = models.CharField(max_length=100, unique=True)
    request = models.JSONField()
    effect = models.CharField(max_length=16, choices=choices(Effect))
    reason = models.CharField(max_length=64, blank=True, choices=choices(Reason))

    recorded = Recorded(Resource.EXPECTATIONS, api_fields("name", "request", "effect", "reason"))
    segments = ()

    class Meta:
        verbose_name = _("expectation")
        verbose_name_plural = _("expectations")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
