"""The rows that belong to no app: the head of the policy and the system settings, one row each."""

import uuid
from enum import StrEnum

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone

from gatewall.engine.snapshot import AuditMode, DomainsMode, EnforcementMode, QueryStrings, StalePolicy, UnknownCountry


def choices(enum: type[StrEnum]) -> list[tuple[str, str]]:
    """Return the choices of a field that holds a value of this enum."""
    return [(member.value, member.value.replace("_", " ").replace("-", " ")) for member in enum]


def in_range(field: str, low: int, high: int, name: str) -> models.CheckConstraint:
    """Return the constraint of this name by which the database keeps a number between two others."""
    return models.CheckConstraint(condition=models.Q(**{f"{field}__gte": low, f"{field}__lte": high}), name=name)


class Record(models.Model):
    """What every row that people make has. ``created_by`` is a name, so that it outlives the user."""

    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=64, blank=True, editable=False)

    class Meta:
        abstract = True


class PolicyHead(models.Model):
    """Which policy is in force. One row.

    Whoever changes policy updates it in the same transaction and so holds its lock until commit: the
    numbers are in the order of the commits, which those of a sequence are not. ``epoch`` names the
    history they belong to, ``parent_epoch`` the one that an admin confirmed it follows.
    """

    epoch = models.UUIDField(default=uuid.uuid4, editable=False)
    parent_epoch = models.UUIDField(null=True, editable=False)
    revision = models.PositiveBigIntegerField(default=0)
    revocations = models.PositiveBigIntegerField(default=0)
    reloads = models.PositiveBigIntegerField(default=0)
    advanced_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(pk=1), name="policy_head_is_one_row")]


class PolicySegment(models.Model):
    """The last change of a segment of the policy; a segment without a row was never changed.

    A random id and no number: after a restore, the same numbers stand for other changes.
    """

    name = models.CharField(max_length=100, primary_key=True)
    change = models.UUIDField(default=uuid.uuid4)


class PolicyRevision(models.Model):
    """A revision that was committed. ``lineage`` tells it from one of the same number after a restore.

    ``changes`` is null where there are too many of them, ``counts`` too where none were recorded.
    ``resources`` has each resource between spaces, to look for one.
    """

    number = models.PositiveBigIntegerField(primary_key=True)
    lineage = models.UUIDField(default=uuid.uuid4, editable=False)
    committed_at = models.DateTimeField(default=timezone.now)
    actor = models.CharField(max_length=64, blank=True)
    changes = models.JSONField(null=True)
    counts = models.JSONField(null=True)
    resources = models.CharField(max_length=200, blank=True)


class PendingConfirmation(models.Model):
    """A forced change that locks out the address it was made from: reverted unless its maker confirms it.

    It is what the revisions after ``previous`` up to ``revision`` did. ``outcome`` is empty until it was kept or
    reverted; ``problem`` says why the last try to revert it failed.
    """

    KEPT, REVERTED = "kept", "reverted"

    revision = models.PositiveBigIntegerField(primary_key=True)
    previous = models.PositiveBigIntegerField()
    actor = models.CharField(max_length=64, blank=True)
    address = models.CharField(max_length=45)
    made_at = models.DateTimeField(default=timezone.now)
    deadline = models.DateTimeField()
    tried_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=500, blank=True)
    outcome = models.CharField(max_length=8, blank=True)
    settled_at = models.DateTimeField(null=True)
    settled_by = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = [models.Index(fields=["outcome", "deadline"], name="confirmation_by_deadline")]


class PolicyRevocation(models.Model):
    """A revoked session, counted. Its ``lineage`` is what a revision's is: a restore must bring no session back."""

    number = models.PositiveBigIntegerField(primary_key=True)
    lineage = models.UUIDField(default=uuid.uuid4, editable=False)


class Node(models.Model):
    """A host and what its agent last said of it.

    Of its access log, what is older than ``log_lag_seconds`` is in the database or set aside; null while its
    spool was not read to the end once. ``unconfirmed_seconds``: how long its policy was not compared with the database
    and found to be the one in force, at ``seen_at``, since the boot where it never was. ``seen_at`` is by the clock of
    the database.
    """

    name = models.CharField(max_length=100, unique=True)
    seen_at = models.DateTimeField()
    revision = models.PositiveBigIntegerField()
    published_at = models.DateTimeField(null=True)
    workers = models.JSONField(default=list)
    problem = models.CharField(max_length=500, blank=True)
    log_lag_seconds = models.FloatField(null=True)
    log_spooled_bytes = models.BigIntegerField(default=0)
    unconfirmed_seconds = models.FloatField(null=True)

    class Meta:
        ordering = ["name"]


class SystemSettings(models.Model):
    """What operators set while the system runs; ``docs/configuration.md`` explains each."""

    authorized_domains_mode = models.CharField(
        max_length=16, choices=choices(DomainsMode), default=DomainsMode.ANY.value
    )
    waf_mode = models.CharField(max_length=16, choices=choices(EnforcementMode), default=EnforcementMode.BLOCK.value)
    waf_threshold = models.PositiveSmallIntegerField(
        default=5, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    geo_mode = models.CharField(max_length=16, choices=choices(EnforcementMode), default=EnforcementMode.BLOCK.value)
    unknown_country = models.CharField(
        max_length=16, choices=choices(UnknownCountry), default=UnknownCountry.ALLOW.value
    )
    request_rate_per_minute = models.PositiveIntegerField(
        default=0, validators=[MaxValueValidator(1_000_000)], help_text="0 is off"
    )
    session_hours = models.PositiveSmallIntegerField(
        default=24, validators=[MinValueValidator(1), MaxValueValidator(8760)]
    )
    login_failures_per_account_and_network = models.PositiveIntegerField(
        default=10, validators=[MinValueValidator(1), MaxValueValidator(1_000)]
    )
    login_failures_per_network = models.PositiveIntegerField(
        default=100, validators=[MinValueValidator(1), MaxValueValidator(100_000)]
    )
    login_failures_per_account = models.PositiveIntegerField(
        default=1000, validators=[MinValueValidator(1), MaxValueValidator(100_000)]
    )
    login_failure_window_minutes = models.PositiveSmallIntegerField(
        default=15, validators=[MinValueValidator(1), MaxValueValidator(1440)]
    )
    login_delay_seconds = models.PositiveSmallIntegerField(
        default=30, validators=[MinValueValidator(1), MaxValueValidator(3600)], help_text="doubles with each failure"
    )
    api_requests_per_minute = models.PositiveIntegerField(
        default=1200, validators=[MinValueValidator(60), MaxValueValidator(1_000_000)]
    )
    access_log_retention_days = models.PositiveSmallIntegerField(
        default=30, validators=[MinValueValidator(1), MaxValueValidator(3650)]
    )
    access_log_max_bytes = models.BigIntegerField(
        default=5 * 2**30,
        db_default=5 * 2**30,
        validators=[MinValueValidator(2**26), MaxValueValidator(2**50)],
        help_text="of its rows; above it refused ones are folded, then the oldest are deleted",
    )
    event_retention_days = models.PositiveSmallIntegerField(
        default=90, validators=[MinValueValidator(1), MaxValueValidator(3650)]
    )
    auto_ban_mode = models.CharField(
        max_length=16,
        choices=choices(EnforcementMode),
        default=EnforcementMode.BLOCK.value,
        help_text="monitor: attackers are told of among the security events, and not banned",
    )
    auto_ban_minutes = models.PositiveIntegerField(
        default=60, validators=[MinValueValidator(1), MaxValueValidator(43_200)]
    )
    detector_window_minutes = models.PositiveSmallIntegerField(
        default=10, validators=[MinValueValidator(1), MaxValueValidator(60)]
    )
    brute_force_failures = models.PositiveSmallIntegerField(
        default=20, validators=[MinValueValidator(5), MaxValueValidator(500)], help_text="of sign-ins, by one network"
    )
    stuffing_accounts = models.PositiveSmallIntegerField(
        default=10, validators=[MinValueValidator(3), MaxValueValidator(500)], help_text="that one network fails at"
    )
    stuffing_accounts_overall = models.PositiveSmallIntegerField(
        default=100, validators=[MinValueValidator(10), MaxValueValidator(10_000)], help_text="that all clients fail at"
    )
    probing_targets = models.PositiveSmallIntegerField(
        default=20, validators=[MinValueValidator(5), MaxValueValidator(500)], help_text="different ones of one network"
    )
    probing_rules = models.PositiveSmallIntegerField(
        default=5, validators=[MinValueValidator(3), MaxValueValidator(100)], help_text="that one network trips"
    )
    webhook_incident_minutes = models.PositiveSmallIntegerField(
        default=15, validators=[MinValueValidator(1), MaxValueValidator(1440)], help_text="of quiet end an incident"
    )
    webhook_notices_per_hour = models.PositiveIntegerField(
        default=100, validators=[MinValueValidator(1), MaxValueValidator(10_000)], help_text="that a webhook is sent"
    )
    webhook_retention_days = models.PositiveSmallIntegerField(
        default=30, validators=[MinValueValidator(1), MaxValueValidator(365)], help_text="of notices, failed ones too"
    )
    audit_mode = models.CharField(
        max_length=16,
        choices=choices(AuditMode),
        default=AuditMode.BEST_EFFORT.value,
        help_text="strict: nobody is let in while the access log cannot be written",
    )
    log_query_strings = models.CharField(
        max_length=16,
        choices=choices(QueryStrings),
        default=QueryStrings.MASKED.value,
        help_text="off: the access log keeps nothing of them",
    )
    stale_policy = models.CharField(
        max_length=16,
        choices=choices(StalePolicy),
        default=StalePolicy.STATIC.value,
        db_default=StalePolicy.STATIC.value,
        help_text="strict: nobody is let in by a policy that could not be compared with the database for so long",
    )
    stale_policy_seconds = models.PositiveIntegerField(
        default=60,
        db_default=60,
        validators=[MinValueValidator(15), MaxValueValidator(86_400)],
        help_text="that strict goes on without",
    )
    recovery_local_only = models.BooleanField(
        default=True, help_text="/admin-recover-2fa answers callers on this machine alone"
    )
    guard_message = models.CharField(max_length=500, blank=True, help_text="shown on the sign-in page")
    contact = models.CharField(max_length=200, blank=True, help_text="whom a refused visitor may ask")

    class Meta:
        verbose_name = verbose_name_plural = "system settings"
        constraints = [
            models.CheckConstraint(condition=models.Q(pk=1), name="system_settings_is_one_row"),
            models.CheckConstraint(
                condition=models.Q(authorized_domains_mode__in=[mode.value for mode in DomainsMode]),
                name="authorized_domains_mode_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(waf_mode__in=[mode.value for mode in EnforcementMode]), name="waf_mode_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(geo_mode__in=[mode.value for mode in EnforcementMode]), name="geo_mode_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(unknown_country__in=[value.value for value in UnknownCountry]),
                name="unknown_country_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(audit_mode__in=[mode.value for mode in AuditMode]), name="audit_mode_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(log_query_strings__in=[mode.value for mode in QueryStrings]),
                name="log_query_strings_is_known",
            ),
            models.CheckConstraint(
                condition=models.Q(stale_policy__in=[mode.value for mode in StalePolicy]), name="stale_policy_is_known"
            ),
            in_range("stale_policy_seconds", 15, 86_400, "stale_policy_seconds_in_range"),
            in_range("access_log_retention_days", 1, 3650, "access_log_retention_in_range"),
            in_range("access_log_max_bytes", 2**26, 2**50, "access_log_max_bytes_in_range"),
            in_range("event_retention_days", 1, 3650, "event_retention_in_range"),
            models.CheckConstraint(
                condition=models.Q(auto_ban_mode__in=[mode.value for mode in EnforcementMode]),
                name="auto_ban_mode_is_known",
            ),
            in_range("auto_ban_minutes", 1, 43_200, "auto_ban_minutes_in_range"),
            in_range("waf_threshold", 1, 100, "waf_threshold_in_range"),
            in_range("session_hours", 1, 8760, "session_hours_in_range"),
        ]

    def __str__(self) -> str:
        return "system settings"
