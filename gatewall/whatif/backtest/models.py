"""Backtests: their proposals, progress and results."""

from django.db import models

from gatewall.engine.messages import stored_message
from gatewall.models import Record


class State(models.TextChoices):
    """State of a backtest."""

    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    FINISHED = "finished", "finished"
    FAILED = "failed", "failed"


class Backtest(Record):
    """A proposal replayed on the recorded requests of a window; ``result`` is from a tally.

    ``draft`` is the proposal of this ``kind``, from ``proposals.as_json``; ``resource`` is that of a draft of one row.
    ``claim`` is the process that runs it, ``beat_at`` its heartbeat. Across all hosts, one backtest runs at a time.
    ``failure_message`` has the template and the parameters of ``failure``.

    A plan is a backtest with a ``digest``, which identifies the proposal and the policy of ``base_revision`` that it is
    for; ``planned`` is the result of its dry run: changes, expectations, and whether the author is locked out.
    """

    kind = models.CharField(max_length=16, default="row", db_default="row")
    resource = models.CharField(max_length=32, blank=True)
    draft = models.JSONField()
    start_time = models.DateTimeField()
    end_time = models.DateTimeField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    claim = models.UUIDField(null=True)
    beat_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(null=True)
    result = models.JSONField(null=True)
    failure = models.CharField(max_length=500, blank=True)
    failure_message = models.JSONField(null=True)
    saved = models.JSONField(null=True)
    digest = models.CharField(max_length=64, blank=True, default="", db_default="")
    base_revision = models.PositiveBigIntegerField(null=True)
    planned = models.JSONField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=models.Q(state="running"), name="one_backtest_runs_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"backtest {self.pk}"

    def why_failed(self) -> str:
        """Return ``failure`` as a message that a page can translate."""
        return stored_message(self.failure_message, self.failure)
