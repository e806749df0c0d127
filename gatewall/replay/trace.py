"""The steps that led to a recorded answer, as its record tells. Pure."""

from dataclasses import dataclass

from audit.spool.records import AccessRecord
from gatewall.engine.model import Reason
from gatewall.engine.steps import DECIDING_STEP, STEPS, inspected_client_is_allowed


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step of the decision: whether it was reached, and whether it decided."""

    step: str
    reached: bool
    decided: bool


def trace_of(record: AccessRecord, *, inspected: bool) -> tuple[TraceStep, ...]:
    """Return every step in its order.

    Two steps admit a client of the allowlist; ``inspected`` says that the entry asks for inspection. Rules that
    matched say it too. Where the gate could not decide, no step is known to have been reached.
    """
    decided = DECIDING_STEP.get(record.reason)
    if record.reason == Reason.CLIENT_ALLOWED and (inspected or record.rules):
        decided = next(step for step in STEPS if step.function is inspected_client_is_allowed)
    last = STEPS.index(decided) if decided else -1
    return tuple(TraceStep(step.name, number <= last, number == last) for number, step in enumerate(STEPS))
