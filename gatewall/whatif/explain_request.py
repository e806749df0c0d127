"""Explain a hypothetical request: the decision, and the result of every step."""

import time
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from accounts.identity_providers.selectors import claimed_groups
from audit.spool.records import grant_of
from gatewall.engine.evaluate import StepResult
from gatewall.engine.model import SubjectKind
from gatewall.gate.build import read_only_ports
from gatewall.gate.record import row_of, rules_of
from gatewall.publication.control_plane import sources_of
from gatewall.replay.explanation import MadeUpRequest, explain_request
from gatewall.replay.redecision import RedecidedStep
from gatewall.replay.rule_places import RulePlaces
from gatewall.whatif.access_trace import access_body
from gatewall.whatif.as_of import AsOf
from gatewall.whatif.shapes import moment_text, placed

NOT_MATCHED = "not matched"


def explain(made_up: MadeUpRequest, as_of: AsOf | None = None) -> dict[str, Any]:
    """Return the answer of ``/auth`` to this request, and the result of every step; records nothing.

    The policy and the time are the current ones or, with ``as_of``, those of its revision.
    """
    config = settings.CONFIG
    policies, countries = sources_of(config)
    ports = read_only_ports(config, countries)
    policy, at = (as_of.policy, as_of.at) if as_of else (policies.current(), time.time())
    explanation = explain_request(made_up, policy, ports, config.trusted_proxies, at)
    record, places = explanation.record, explanation.places
    decision = {
        "status": record.status,
        "outcome": record.outcome,
        "reason": record.reason,
        "decided_by": record.decided_by,
        "grant": grant_of(record.reason, record.decided_by, record.subject),
    }
    if explanation.retry_after_seconds is not None:
        decision["retry_after"] = explanation.retry_after_seconds
    return {
        "decision": decision,
        "trace": [step_body(step, places, NOT_MATCHED if step.asked else None) for step in explanation.steps],
        "client_ip": record.client_ip,
        "subject": record.subject,
        "scope": explanation.scope.as_json() if explanation.scope else None,
        "claimed_groups": _claimed_groups(record.subject) if as_of is None else [],
        "access": access_body(explanation.access, explanation.readings) if explanation.access else None,
        "country_code": record.country_code,
        "domain": explanation.domain,
        "rules": record.rules,
        "visible": record.visible,
        "fault": explanation.fault or None,
        "policy_revision": record.policy_revision,
        "at": moment_text(at) if as_of else None,
        "unknown": [each.as_json() for each in as_of.unknown] if as_of else [],
    }


def _claimed_groups(subject: Mapping[str, Any] | None) -> list[dict[str, str]]:
    """Return which claim of an identity provider gave which group to the user, at their last sign-in there."""
    is_user = subject is not None and subject["kind"] == SubjectKind.USER
    return claimed_groups(subject["id"]) if subject is not None and is_user else []


def step_body(result: StepResult | RedecidedStep, places: RulePlaces, silent: str | None) -> dict[str, Any]:
    """Return the result of a step; ``silent`` is its outcome without a verdict."""
    verdict = result.verdict
    return {
        "step": result.step,
        "reached": result.reached,
        "decided": result.decided,
        "outcome": verdict.effect.value if verdict else silent,
        "reason": verdict.reason.value if verdict else None,
        "decided_by": row_of(verdict.decided_by) if verdict else None,
        "rules": placed(rules_of(result.rules), places),
    }
