"""Subscriptions to published block lists."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record, choices
from policies import validators
from policies.list_files.parsing import Format


class ListSubscription(Record):
    """A published block list that is fetched regularly; each download replaces the entries of the last one.

    The fields from ``next_at`` on are the state of the downloads; the host that downloads writes them without a
    revision.
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
        verbose_name = _("list subscription")
        verbose_name_plural = _("list subscriptions")
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(interval_minutes__gte=15, interval_minutes__lte=43_200),
                name="list_interval_in_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name
