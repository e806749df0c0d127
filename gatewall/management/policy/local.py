"""``gatewall policy`` on this host: through the same services as the API."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer

from gatewall.api.problems import words_of
from gatewall.kernel.refusals import Refusal
from gatewall.management.policy.outcome import Exit, Failure, Json
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.whatif.as_of import with_rows_as_of
from gatewall.whatif.backtest import running, runs
from gatewall.whatif.backtest.models import Backtest, State
from gatewall.whatif.backtest.proposals import WholeDocument
from gatewall.whatif.document_view import compare
from gatewall.whatif.plans import planning
from gatewall.whatif.plans.applying import Conditions, PolicyMovedOn, apply_proposal
from gatewall.whatif.plans.serializers import PlanInput, PlanWithReplay
from policies.document.document import DocumentRefused
from policies.document.export import export
from policies.document.reading import read
from policies.document.schema import schema

ACTOR = "gatewall policy"
_PAUSE = 0.5


class Local:
    """The policy of this host."""

    def export(self, revision: int | None) -> str:
        with _refusals_as_failures():
            document = export() if revision is None else with_rows_as_of(revision, export)[0]
        return document.canonical().decode()

    def schema(self) -> Json:
        return schema()

    def compare(self, document: str) -> Json:
        with _refusals_as_failures():
            return compare(document)

    def apply(self, document: str, options: Mapping[str, Any]) -> Json:
        made = apply_here(document, options)
        return {"revision": made.number if made else None, "counts": list(made.counts or []) if made else []}

    def plan(self, document: str, *, hours: int, replay: bool) -> Json:
        with _refusals_as_failures():
            form = PlanInput(data={"document": document, "window": hours * 3600})
            form.is_valid(raise_exception=True)
            row = planning.plan(**form.validated_data, actor=ACTOR, caller=None)
        if replay:
            _replay(row)
        found: Json = json.loads(JSONRenderer().render(PlanWithReplay(Backtest.objects.get(pk=row.pk)).data))
        return found


@revisions.one_at_a_time
def apply_here(text: str, options: Mapping[str, Any]) -> PolicyRevision | None:
    """Apply a document in one revision; None if it changes nothing. Raises Failure; then nothing is changed."""
    asked, now = options["if_revision"], revisions.current().revision
    people, minutes = options["undo_if_refused"] or (None, 0)
    conditions = Conditions(
        confirm_within_seconds=options["confirm_within"],
        undo_over_people=people,
        undo_minutes=minutes,
        force=options["force"],
    )
    with _refusals_as_failures():
        proposal = WholeDocument.of(read(text.encode()))
        try:
            base = now if asked is None else asked
            return apply_proposal(proposal, base, actor=ACTOR, caller=None, conditions=conditions).revision
        except PolicyMovedOn:
            raise Failure(Exit.REFUSED, f"stale: the policy was changed since revision {asked}") from None


def _replay(row: Backtest) -> None:
    """Run the replay in this process, or wait for the agent's."""
    if claimed := runs.claim_run(row, timezone.now()):
        running.run(claimed)
    while Backtest.objects.filter(pk=row.pk, state__in=[State.QUEUED, State.RUNNING]).exists():
        time.sleep(_PAUSE)


@contextmanager
def _refusals_as_failures() -> Iterator[None]:
    try:
        yield
    except DocumentRefused as refused:
        raise Failure(Exit.REFUSED, f"{refused.code}: {refused}", refused.details()) from None
    except Refusal as refused:
        raise Failure(Exit.REFUSED, f"{refused.code}: {refused}") from None
    except ValidationError as error:
        raise Failure(Exit.REFUSED, f"invalid: {' '.join(error.messages)}") from None
    except exceptions.ValidationError as error:
        raise Failure(Exit.REFUSED, f"invalid: {words_of(error)}") from None
