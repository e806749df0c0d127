"""Replay a recorded request: the decision as recorded, and the decision under today's policy."""

import time
from typing import Any

from django.conf import settings
from django.urls import reverse

from audit.spool.records import DECIDED_BY, AccessRecord
from gatewall.engine.evaluate import CANNOT_DECIDE
from gatewall.engine.model import Reason, Verdict
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.steps import DECIDING_STEP
from gatewall.gate.record import row_of
from gatewall.publication.control_plane import sources_of
from gatewall.replay.missing import NotRecorded
from gatewall.replay.recorded_waf import RecordedFacts
from gatewall.replay.redecision import Redecided, RedecidedStep, Redecider, TraceStep, recorded_request, trace_of
from gatewall.replay.rule_places import RulePlaces
from gatewall.replay.scope_sources import scope_sources
from gatewall.whatif.access_trace import access_body
from gatewall.whatif.as_of import AsOf
from gatewall.whatif.change_histories import changes_between
from gatewall.whatif.explain_request import NOT_MATCHED, step_body
from gatewall.whatif.shapes import moment_text, placed
from policies import selectors
from policies.policy_source import engine_access_rule

_WAF_STEP = DECIDING_STEP[Reason.WAF_RULE].name


def trace(record: AccessRecord) -> list[dict[str, Any]]:
    """Return every step of the recorded decision in order, with the API path of the deciding row."""
    policy = sources_of(settings.CONFIG)[0].current() if record.rules else None
    places = _places(record, policy, record.at)
    steps = trace_of(record, inspected=_inspected(record), about_subjects=_is_about_subjects(record))
    return [_recorded_step(record, each, places) for each in steps]


def decide_again(record: AccessRecord, as_of: AsOf | None = None) -> dict[str, Any]:
    """Return the answer under the current policy and time, or why it cannot be determined.

    With ``as_of``, the answer under the policy of its revision, at the time of the record.
    """
    policies, countries = sources_of(settings.CONFIG)
    policy, at = (as_of.policy, record.at) if as_of else (policies.current(), time.time())
    unknown = [each.as_json() for each in as_of.unknown] if as_of else []
    moment = {"at": moment_text(at) if as_of else None, "unknown": unknown}
    if policy is None:
        return {**_body(record, Redecided(CANNOT_DECIDE.verdict, None, frozenset()), [], 0), **moment}
    revision = policy.version.revision
    history = changes_between(record.policy_revision, revision)
    redecider = Redecider(policy, countries=countries, history=history, at=at)
    replay = redecider.replay(record)
    decision = replay.decision()
    places = _places(record, policy, at)
    steps = [_step(each, places) for each in replay.steps()]
    domain = replay.facts.domain_name if replay.facts else None
    scope = scope_sources(redecider.subject_of(record), policy, domain)
    body = _body(record, decision, steps, revision)
    return {**body, "scope": scope.as_json() if scope else None, "access": _access(replay.facts), **moment}


def _access(facts: RecordedFacts | None) -> dict[str, Any] | None:
    """Return the access that a recorded request needs, None if its record lacks a part that the rules test."""
    if facts is None or facts.request.fault:
        return None
    try:
        return access_body(facts.access, facts.access_trace())
    except NotRecorded:
        return None


def _places(record: AccessRecord, policy: PolicySnapshot | None, at: float) -> RulePlaces:
    """Return where the current rules match the recorded request, with exclusions as of this time."""
    request = recorded_request(record, at)
    if policy is None or request is None:
        return RulePlaces((), None, None)
    domain = policy.domains.match(request.host)
    return RulePlaces(policy.waf.rules, request, domain.name if domain else None)


def _inspected(record: AccessRecord) -> bool:
    """Return whether the allowlist entry has ``inspect`` today: the log does not have its earlier value."""
    if record.reason != Reason.CLIENT_ALLOWED or record.decided_by is None:
        return False
    entry = selectors.allowed_networks().filter(pk=record.decided_by["id"]).first()
    return entry is not None and entry.inspect


def _is_about_subjects(record: AccessRecord) -> bool:
    """Return whether the access rule that denied a known subject is about subjects today: the log has only its id."""
    if record.reason != Reason.ACCESS_DENIED or record.subject is None or record.decided_by is None:
        return False
    rule = selectors.access_rules().filter(pk=record.decided_by["id"]).first()
    return rule is not None and engine_access_rule(rule).is_about_subjects


def _recorded_step(record: AccessRecord, step: TraceStep, places: RulePlaces) -> dict[str, Any]:
    silent = NOT_MATCHED if step.reached else None
    return {
        "step": step.step,
        "reached": step.reached,
        "decided": step.decided,
        "outcome": record.outcome if step.decided else silent,
        "reason": record.reason if step.decided else None,
        "decided_by": _with_path(record.decided_by) if step.decided else None,
        "rules": placed(record.rules, places) if step.reached and step.step == _WAF_STEP else [],
    }


def _body(record: AccessRecord, again: Redecided, steps: list[dict[str, Any]], revision: int) -> dict[str, Any]:
    verdict = again.verdict
    is_same = (verdict.effect, verdict.reason) == (record.outcome, record.reason) if verdict else None
    return {
        "decision": _decision(verdict) if verdict else None,
        "same": is_same,
        "undecidable": again.missing.value if again.missing else None,
        "assumed": sorted(again.assumed),
        "trace": steps,
        "scope": None,
        "access": None,
        "policy_revision": revision,
    }


def _decision(verdict: Verdict) -> dict[str, Any]:
    return {
        "status": verdict.effect.status,
        "outcome": verdict.effect.value,
        "reason": verdict.reason.value,
        "decided_by": _with_path(row_of(verdict.decided_by)),
    }


def _step(result: RedecidedStep, places: RulePlaces) -> dict[str, Any]:
    body = step_body(result, places, None if result.missing else NOT_MATCHED)
    missing = result.missing.value if result.missing else None
    return {**body, "decided_by": _with_path(body["decided_by"]), "undecidable": missing}


def _with_path(row: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a row with its API path; the row may have been deleted."""
    if row is None or row["kind"] not in DECIDED_BY.choices:
        return row
    return {**row, "path": reverse(f"{row['kind']}-detail", kwargs={"pk": row["id"]})}
