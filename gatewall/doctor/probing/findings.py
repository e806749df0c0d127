"""Verdicts and findings of the proxy doctor; their texts are in ``gatewall.doctor.finding_texts``. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Verdict(StrEnum):
    """Result of a check, worst first."""

    WRONG = "wrong"
    UNKNOWN = "unknown"
    OK = "ok"
    NOT_APPLICABLE = "not-applicable"


_WORST_FIRST = list(Verdict)


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: its code, verdict and values, and the probe it is from."""

    code: str
    verdict: Verdict
    probe: str = ""
    values: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """A check with its findings, at least one."""

    check: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        return worst([finding.verdict for finding in self.findings])


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the worst verdict."""
    return min(verdicts, key=_WORST_FIRST.index, default=Verdict.NOT_APPLICABLE)


def ok(code: str, probe: str = "", **values: str) -> Finding:
    """Return a finding that something is correct."""
    return Finding(code, Verdict.OK, probe, values)


def wrong(code: str, probe: str = "", **values: str) -> Finding:
    """Return a finding that something is wrong."""
    return Finding(code, Verdict.WRONG, probe, values)


def unknown(code: str, probe: str = "", **values: str) -> Finding:
    """Return a finding that something cannot be determined."""
    return Finding(code, Verdict.UNKNOWN, probe, values)


def not_applicable(code: str, probe: str = "", **values: str) -> Finding:
    """Return a finding that a check does not apply, or not to the doctor."""
    return Finding(code, Verdict.NOT_APPLICABLE, probe, values)
