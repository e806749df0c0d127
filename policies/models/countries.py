"""Blocked countries."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record
from policies import validators


class GeoBlockRule(Record):
    """A blocked country."""

    country_code = models.CharField(max_length=2, unique=True, validators=[validators.validate_country_code])
    remark = models.CharField(max_length=500, blank=True)

    recorded = Recorded(Resource.COUNTRIES, api_fields("country_code", "remark"))
    segments = (Segment.BLOCKED_COUNTRIES,)

    class Meta:
        verbose_name = _("blocked country")
        verbose_name_plural = _("blocked countries")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.country_code
