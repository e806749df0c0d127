"""The rows that belong to no app: the head of the policy, the system settings, the shadow policy, hosts."""

import uuid

from django.db import models
from django.utils import timezone

from gatewall.engine.messages import stored_message
from gatewall.models.settings import SystemSettings, choices
from gatewall.models.shadow import ShadowPolicy, ShadowReport

__all__ = [
    "Node",
    "PendingConfirmation",
    "PolicyHead",
    "PolicyRevision",
    "PolicyRevocation",
    "PolicySegment",
    "Record",
    "RefusalWatch",
    "ShadowPolicy",
    "ShadowReport",
    "SystemSettings",
    "choices",
]


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
    """A change that is reverted unless somebody confirms it: it locks out its author, or they asked for it.

    It is what the revisions after ``previous`` up to ``revision`` did. ``address``: where it was made, empty for a
    command. ``outcome`` is empty until it was kept or reverted; ``problem`` says why the last try to revert it failed,
    ``problem_message`` is its template and parameters.
    """

    KEPT, REVERTED = "kept", "reverted"
    LOCK_OUT, ASKED = "lock-out", "asked"

    revision = models.PositiveBigIntegerField(primary_key=True)
    previous = models.PositiveBigIntegerField()
    actor = models.CharField(max_length=64, blank=True)
    address = models.CharField(max_length=45, blank=True)
    cause = models.CharField(max_length=8, default=LOCK_OUT, db_default=LOCK_OUT)
    made_at = models.DateTimeField(default=timezone.now)
    deadline = models.DateTimeField()
    tried_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=500, blank=True)
    problem_message = models.JSONField(null=True)
    outcome = models.CharField(max_length=8, blank=True)
    settled_at = models.DateTimeField(null=True)
    settled_by = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = [models.Index(fields=["outcome", "deadline"], name="confirmation_by_deadline")]

    def why_not_reverted(self) -> str:
        """Return ``problem`` as a message that a page can translate."""
        return stored_message(self.problem_message, self.problem)


class RefusalWatch(models.Model):
    """A change that is reverted if it refuses too many people who were let in before (``whatif/refusal_watch.py``).

    It is what the revisions after ``previous`` up to ``revision`` did. ``people``: how many it may refuse; ``refused``:
    those found so far, with their host and a decision. ``outcome`` is empty until the change was kept or reverted;
    ``problem`` says why the last try failed.
    """

    KEPT, REVERTED = "kept", "reverted"

    revision = models.PositiveBigIntegerField(primary_key=True)
    previous = models.PositiveBigIntegerField()
    actor = models.CharField(max_length=64, blank=True)
    people = models.PositiveIntegerField()
    made_at = models.DateTimeField(default=timezone.now)
    until = models.DateTimeField()
    refused = models.JSONField(default=list)
    problem = models.CharField(max_length=500, blank=True)
    outcome = models.CharField(max_length=8, blank=True)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["outcome", "until"], name="refusal_watch_by_end")]


class PolicyRevocation(models.Model):
    """A revoked session, counted. Its ``lineage`` is what a revision's is: a restore must bring no session back."""

    number = models.PositiveBigIntegerField(primary_key=True)
    lineage = models.UUIDField(default=uuid.uuid4, editable=False)


class Node(models.Model):
    """A host, as its agent last reported it.

    All access records older than ``log_lag_seconds`` are in the database or in quarantine; null until the first full
    pass over the spool. ``unconfirmed_seconds``: for how long, at ``seen_at``, its policy had not been confirmed as
    current by the database; since boot if it never was. ``seen_at`` is by the clock of the database.
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
