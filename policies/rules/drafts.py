"""Validate and try a WAF rule before it is saved. Read-only."""

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from gatewall.engine.model import Action
from gatewall.engine.waf.rules import WafRule as EngineRule
from policies.models import WafRule
from policies.policy_source import engine_rule
from policies.rules.broad_patterns import why_it_matches_everything
from policies.rules.scanned_apart import warnings_about
from policies.validators import validate_pattern


@dataclass(frozen=True, slots=True)
class DraftRule:
    """A rule that is not saved, as an engine value: None if disabled; its id is that of the rule it replaces, or 0.

    ``warning``: why saving it needs force, else empty. ``apart``: warnings for its author.
    """

    rule: EngineRule | None
    replaces: int | None
    warning: str
    apart: tuple[str, ...] = ()


def draft_rule(values: dict[str, Any]) -> DraftRule:
    """Return the rule these values would create, or change into if a custom rule of this name exists.

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
    warning = why_it_matches_everything(rule) if row.action == Action.BLOCK else ""
    return DraftRule(rule if row.enabled else None, row.pk or None, warning, tuple(warnings_about(row)))
