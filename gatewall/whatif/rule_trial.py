"""Dry-run WAF rules against a hypothetical request: which match, where, and with what result."""

import time
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import APIException

from gatewall.engine.model import Action
from gatewall.engine.waf.rules import WafRule as EngineRule
from gatewall.gate.build import read_only_ports
from gatewall.publication.control_plane import sources_of
from gatewall.replay.explanation import MadeUpRequest
from gatewall.replay.waf_trial import Draft, Trial, try_rules
from policies.models import WafRule
from policies.policy_source import engine_rule
from policies.rules.broad_patterns import warnings_about, why_it_matches_everything
from policies.validators import validate_pattern


class NoPolicy(APIException):
    """No policy could be loaded since the process started."""

    status_code = 503
    default_detail = "no policy is loaded, so the rule cannot be tried"


def try_request(made_up: MadeUpRequest, body: bytes | None, rule: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the results of the WAF rules, and of an optional draft rule, for a request; records nothing.

    Raises ValidationError for a draft that could not be saved, NoPolicy.
    """
    config = settings.CONFIG
    policies, countries = sources_of(config)
    policy = policies.current()
    if policy is None:
        raise NoPolicy
    draft, warnings = (None, []) if rule is None else _draft(rule)
    result = try_rules(policy, made_up, body, draft, read_only_ports(config, countries), time.time())
    return {
        "blocked": result.blocked,
        "waf_mode": policy.settings.waf_mode.value,
        "waf_threshold": policy.settings.waf_threshold,
        "scores": result.scores,
        "rules": [_rule_body(each, result, draft) for each in result.rules],
        "domain": result.domain,
        "fault": result.fault or None,
        "warnings": warnings,
        "policy_revision": policy.version.revision,
    }


def _rule_body(rule: EngineRule, result: Trial, draft: Draft | None) -> dict[str, Any]:
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


def _draft(values: Mapping[str, Any]) -> tuple[Draft, list[str]]:
    """Return the rule with these values, and warnings; it replaces an existing custom rule of the same name.

    Raises ValidationError.
    """
    saved = WafRule.objects.filter(name=values["name"]).first()
    if saved is not None and saved.builtin:
        raise ValidationError({"name": ValidationError(_("a built-in rule has this name"), code="builtin-rule")})
    row = WafRule(**values)
    row.full_clean(validate_unique=False, validate_constraints=False)
    try:
        validate_pattern(row.pattern, row.operator)
    except ValidationError as error:
        raise ValidationError({"pattern": error}) from None
    row.pk = saved.pk if saved else 0
    rule = engine_rule(row)
    why = why_it_matches_everything(rule) if row.action == Action.BLOCK else ""
    warnings = [f"{why}: it can be saved only with `force`"] if why else warnings_about(row)
    return Draft(rule if row.enabled else None, row.pk or None), warnings
