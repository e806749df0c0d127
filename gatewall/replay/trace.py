"""Steps that led to a recorded decision, derived from its record. Pure."""

from dataclasses import dataclass

from audit.spool.records import AccessRecord
from gatewall.engine.model import Reason
from gatewall.engine.steps import DECIDING_STEP, STEPS, inspected_client_is_allowed


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A decision step: whether it was reached, and whether it decided."""

    step: str
    reached: bool
    decided: bool


def trace_of(record: AccessRecord, *, inspected: bool) -> tuple[TraceStep, ...]:
    """Return every step in order; none is reached if the gate could not decide.

    Two steps can allow an allowlisted client: the later one if its entry has ``inspect`` or rules matched.
    """
    decided = DECIDING_STEP.get(record.reason)
    if record.reason == Reason.CLIENT_ALLOWED and (inspected or record.rules):
        decided = next(step for step in STEPS if step.function is inspected_client_is_allowed)
    last = STEPS.index(decided) if decided else -1
    return tuple(TraceStep(step.name, number <= last, number == last) for number, step in enumerate(STEPS))
