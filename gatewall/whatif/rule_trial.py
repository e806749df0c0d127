"""Dry-run WAF rules against a hypothetical request: which match, where, and with what result."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework.exceptions import APIException

from gatewall.engine.waf.rules import WafRule
from gatewall.publication.control_plane import sources_of
from gatewall.replay.build import build_rule_trial
from gatewall.replay.explanation import MadeUpRequest
from gatewall.replay.waf_trial import Draft, Trial
from policies.rules.drafts import DraftRule, draft_rule


class NoPolicy(APIException):
    """No policy could be loaded since the process started."""

    status_code = 503
    default_detail = "there is no policy that a rule could be tried in"


def try_request(made_up: MadeUpRequest, body: bytes | None, rule: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the results of the WAF rules, and of an optional draft rule, for a request; records nothing.

    Raises ValidationError for a draft that could not be saved, NoPolicy.
    """
    config = settings.CONFIG
    trial = build_rule_trial(config, *sources_of(config))
    policy = trial.policy()
    if policy is None:
        raise NoPolicy
    unsaved = draft_rule(dict(rule)) if rule is not None else None
    draft = Draft(unsaved.rule, unsaved.replaces) if unsaved else None
    result = trial.run(policy, made_up, body, draft)
    return {
        "blocked": result.blocked,
        "waf_mode": policy.settings.waf_mode.value,
        "waf_threshold": policy.settings.waf_threshold,
        "scores": [{"category": each.category, "block": each.block, "monitor": each.monitor} for each in result.scores],
        "rules": [_rule_body(each, result, draft) for each in result.rules],
        "domain": result.domain,
        "fault": result.fault or None,
        "warnings": _warnings(unsaved),
        "policy_revision": policy.version.revision,
    }


def _rule_body(rule: WafRule, result: Trial, draft: Draft | None) -> dict[str, Any]:
    return {
        "id": rule.id or None,
        "name": rule.name,
        "builtin": rule.builtin,
        "draft": draft is not None and rule is draft.rule,
        "category": rule.category.value,
        "score": rule.score,
        "action": rule.action.value,
        "counts": rule.id in result.counts,
        "places": result.places.of(rule.id),
    }


def _warnings(draft: DraftRule | None) -> list[str]:
    if draft is None:
        return []
    return [f"{draft.warning}: it is saved by force alone"] if draft.warning else [*draft.apart]
