"""The shadow policy, and the reports of the hosts about it."""

import uuid

from django.db import models
from django.utils import timezone


class ShadowPolicy(models.Model):
    """A policy document to try beside the live policy. One row.

    ``key`` changes whenever the shadow policy is set: figures and published files belong to one key. ``revision`` is
    the policy revision when it was set. ``problem`` says why the document cannot be compiled now.
    """

    key = models.UUIDField(default=uuid.uuid4, editable=False)
    document = models.TextField()
    percent = models.PositiveSmallIntegerField()
    revision = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=64, blank=True)
    compiled_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(pk=1), name="shadow_policy_is_one_row")]

    def __str__(self) -> str:
        return f"shadow policy of {self.created_by}"


class ShadowReport(models.Model):
    """Figures of a host's processes about the shadow policy with this key.

    ``workers`` has the last figures of each process by its report's name, ``recent`` their sum over the last seconds.
    Figures of ended processes are kept too (if there are too many, as one sum), so that storing a report twice changes
    nothing.
    """

    node = models.CharField(max_length=100, unique=True)
    key = models.UUIDField()
    seen_at = models.DateTimeField()
    workers = models.JSONField(default=dict)
    recent = models.JSONField(default=dict)
    active = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=500, blank=True)

    def __str__(self) -> str:
        return f"shadow policy on {self.node}"
