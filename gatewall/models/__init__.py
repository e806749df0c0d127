"""Models of no app: the head of the policy, revisions, the system settings, the shadow policy, hosts."""

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
    """Base of all rows that people create. ``created_by`` is a name, so that it remains after the user is deleted."""

    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=64, blank=True, editable=False)

    class Meta:
        abstract = True


class PolicyHead(models.Model):
    """The numbers of the committed policy. One row.

    Every change of policy updates this row in its transaction, and so locks it until the commit. The numbers are
    therefore in the order of the commits; those of a sequence would not be. ``epoch`` is the history that they belong
    to, ``parent_epoch`` the one before it, as an admin has confirmed.
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

    The change id is random and not a number: after a restore, the same numbers stand for other changes.
    """

    name = models.CharField(max_length=100, primary_key=True)
    change = models.UUIDField(default=uuid.uuid4)


class PolicyRevision(models.Model):
    """A committed revision. ``lineage`` distinguishes it from a revision of the same number after a restore.

    ``changes`` is null if there are too many; ``changes`` and ``counts`` are both null if none were recorded.
    ``resources`` has each resource between spaces, so that it can be searched.
    """

    number = models.PositiveBigIntegerField(primary_key=True)
    lineage = models.UUIDField(default=uuid.uuid4, editable=False)
    committed_at = models.DateTimeField(default=timezone.now)
    actor = models.CharField(max_length=64, blank=True)
    changes = models.JSONField(null=True)
    counts = models.JSONField(null=True)
    resources = models.CharField(max_length=200, blank=True)


class PendingConfirmation(models.Model):
    """A change that is reverted unless somebody confirms it: it locks out its author, or they set a deadline.

    The change consists of the revisions after ``previous`` up to ``revision``. ``address``: the address it was made
    from, empty for a command. ``outcome`` is empty until the change was kept or reverted; ``problem`` is why the last
    try to revert it failed, ``problem_message`` its template and parameters.
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

    The change consists of the revisions after ``previous`` up to ``revision``. ``people``: how many it may refuse;
    ``refused``: the people found so far, with their host and a decision. ``outcome`` is empty until the change was kept
    or reverted; ``problem`` is why the last try failed.
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
    """Number of a revocation. ``lineage`` as for a revision: a restore must not make a revoked session valid again."""

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
