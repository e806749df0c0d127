"""The steps of a recorded decision, from its access record. Pure."""

from dataclasses import dataclass

from audit.spool.records import AccessRecord
from gatewall.engine.evaluate import STEPS
from gatewall.engine.model import Reason
from gatewall.replay.recorded_waf import DECIDING_STEP

_INSPECTED = "inspected-client-is-allowed"


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
    decided = DECIDING_STEP.get(Reason(record.reason)) if record.reason in set(Reason) else None
    if record.reason == Reason.CLIENT_ALLOWED and (inspected or record.rules):
        decided = _INSPECTED
    names = [step.__name__.replace("_", "-") for step in STEPS]
    last = names.index(decided) if decided else -1
    return tuple(TraceStep(name, number <= last, number == last) for number, name in enumerate(names))
