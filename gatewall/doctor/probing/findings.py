"""Verdicts and findings of the proxy doctor; their texts are in ``gatewall.doctor.words``. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """How a check came out, the worst first."""

    WRONG = "wrong"
    UNKNOWN = "unknown"
    OK = "ok"
    NOT_APPLICABLE = "not-applicable"


_WORST_FIRST = list(Verdict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found, by its code, with what it was found in. ``probe``: in which one."""

    code: str
    verdict: Verdict
    probe: str = ""
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """How one check came out, and why; there is at least one finding."""

    check: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        return worst([finding.verdict for finding in self.findings])


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the worst of them."""
    return min(verdicts, key=_WORST_FIRST.index, default=Verdict.NOT_APPLICABLE)


def ok(code: str, probe: str = "", **values: str) -> Finding:
    """Return a finding of what is as it should be."""
    return Finding(code, Verdict.OK, probe, values)


def wrong(code: str, probe: str = "", **values: str) -> Finding:
    """Return a finding of what is not as it should be."""
    return Finding(code, Verdict.WRONG, probe, values)


def unknown(code: str, probe: str = "", **values: str) -> Finding:
    """Return a finding of what cannot be said for sure."""
    return Finding(code, Verdict.UNKNOWN, probe, values)


def not_applicable(code: str, probe: str = "", **values: str) -> Finding:
    """Return a finding of what cannot be examined here, or not by the doctor."""
    return Finding(code, Verdict.NOT_APPLICABLE, probe, values)
