"""The access log, its aggregates, security events, and the shipping progress of each spool."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from audit.querying import lookups  # noqa: F401 - registers the lookup of the columns below


class AccessLog(models.Model):
    """One answer of the gate. On PostgreSQL the table is partitioned by day.

    ``client_key`` sorts like the address (``4`` and 8 hex digits, ``6`` and 32), so that a network is a range of keys.
    """

    decision_id = models.UUIDField(primary_key=True)
    at = models.DateTimeField()
    node = models.CharField(max_length=100)
    client_ip = models.CharField(max_length=45)
    client_key = models.CharField(max_length=33)
    country_code = models.CharField(max_length=2, null=True)
    method = models.CharField(max_length=32)
    scheme = models.CharField(max_length=16)
    host = models.CharField(max_length=255, null=True)
    path = models.CharField(max_length=2048)
    query = models.CharField(max_length=2048)
    user_agent = models.CharField(max_length=512)
    status = models.PositiveSmallIntegerField()
    outcome = models.CharField(max_length=16)
    reason = models.CharField(max_length=64)
    decided_by_kind = models.CharField(max_length=64, null=True)
    decided_by_id = models.BigIntegerField(null=True)
    rules = models.JSONField()
    credential = models.JSONField(null=True)
    visible = models.JSONField()
    subject_kind = models.CharField(max_length=16, null=True)
    subject_id = models.BigIntegerField(null=True)
    subject_name = models.CharField(max_length=100, null=True)
    latency_us = models.BigIntegerField()
    policy_revision = models.BigIntegerField()
    shadow = models.JSONField(null=True)
    waf_score = models.PositiveSmallIntegerField(null=True)
    would_refuse = models.BooleanField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["at", "decision_id"], name="access_log_by_time"),
            models.Index(fields=["client_key", "at"], name="access_log_by_client"),
            models.Index(fields=["host", "at"], name="access_log_by_host"),
            models.Index(fields=["subject_id", "at"], name="access_log_by_subject"),
            models.Index(fields=["reason", "at"], name="access_log_by_reason"),
            models.Index(
                fields=["at", "decision_id"],
                name="access_log_by_shadow",
                condition=models.Q(shadow__isnull=False),
            ),
            models.Index(
                fields=["at", "decision_id"],
                name="access_log_by_would_refuse",
                condition=models.Q(would_refuse__isnull=False),
            ),
        ]


class AccessLogRule(models.Model):
    """A WAF rule that contributed to an answer: index of the answers by rule."""

    rule_id = models.BigIntegerField()
    at = models.DateTimeField()
    decision_id = models.UUIDField()

    class Meta:
        indexes = [models.Index(fields=["rule_id", "at", "decision_id"], name="access_log_by_rule")]


class WaitingAmendment(models.Model):
    """An amendment that was shipped before its record: the segment of the record may be read later."""

    decision_id = models.UUIDField(primary_key=True)
    at = models.DateTimeField()
    shadow = models.JSONField()


class SpoolSegment(models.Model):
    """How many bytes of a spool segment are in the database; stored in the transaction of the segment's rows."""

    id = models.UUIDField(primary_key=True)
    node = models.CharField(max_length=100)
    position = models.BigIntegerField()
    shipped_at = models.DateTimeField()


class SpanCount(models.Model):
    """Number of answers in one span (audit/counting/counts.py) by key of one kind: reason, status, host, client, ...

    ``counts`` is a summary (``audit/counting/summaries.py``) as JSON text; ``error`` bounds how much it is too low.
    """

    kind = models.CharField(max_length=16)
    width = models.PositiveIntegerField(help_text="in seconds")
    start = models.DateTimeField()
    counts = models.TextField()
    error = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "width", "start"], name="span_is_counted_once")]


class UseCount(models.Model):
    """Number of uses of a policy row or credential, and time and program of the last use. Stored apart from the row."""

    kind = models.CharField(max_length=64)
    row_id = models.BigIntegerField()
    count = models.BigIntegerField()
    last_at = models.DateTimeField()
    last_by = models.CharField(max_length=64, blank=True, default="", db_default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "row_id"], name="used_row_is_counted_once")]


class GapKind(models.TextChoices):
    """Why records are missing."""

    DROPPED = "dropped", "could not be spooled"
    DAMAGED = "damaged", "could not be read, and are quarantined"
    TORN = "torn", "incomplete record at the end of a segment"


class LogGap(models.Model):
    """A number of missing records."""

    node = models.CharField(max_length=100)
    at = models.DateTimeField()
    kind = models.CharField(max_length=16)
    count = models.BigIntegerField()


class SecurityEvent(models.Model):
    """A security event. Only ``audit/events/recording.py`` writes them.

    A row with a ``rollup`` stands for ``count`` events from ``at`` to ``last_at``, within one period. ``minute`` is
    ``at`` in minutes since the epoch. ``marks`` are keyed digests that tell repeated events from different ones.
    """

    kind = models.CharField(max_length=32)
    severity = models.CharField(max_length=16)
    at = models.DateTimeField()
    last_at = models.DateTimeField()
    minute = models.BigIntegerField()
    count = models.BigIntegerField(default=1)
    client_ip = models.CharField(max_length=45, null=True)
    client_key = models.CharField(max_length=33, null=True)
    country_code = models.CharField(max_length=2, null=True)
    user_id = models.BigIntegerField(null=True)
    user_name = models.CharField(max_length=100, null=True)
    detail = models.JSONField(default=dict)
    decision_id = models.UUIDField(null=True)
    marks = models.JSONField(default=list)
    rollup = models.CharField(max_length=200, null=True, unique=True)

    class Meta:
        verbose_name = _("security event")
        verbose_name_plural = _("security events")
        indexes = [
            models.Index(fields=["at", "id"], name="security_event_by_time"),
            models.Index(fields=["kind", "at"], name="security_event_by_kind"),
            models.Index(fields=["client_key", "at"], name="security_event_by_client"),
            models.Index(fields=["user_id", "at"], name="security_event_by_user"),
            models.Index(fields=["minute"], name="security_event_by_minute"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.at:%Y-%m-%d %H:%M:%S}"
