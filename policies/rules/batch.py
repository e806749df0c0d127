"""Change many WAF rules at once."""

from django.db.models import QuerySet

from gatewall.engine.model import Action
from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import describe, difference
from gatewall.policy import revisions
from policies.models import WafRule
from policies.rules.broad_patterns import refuse_matching_everything

_BATCH = 500


@revisions.one_at_a_time
def change_waf_rules(
    chosen: QuerySet[WafRule],
    *,
    actor: str,
    enabled: bool | None = None,
    action: Action | None = None,
    force: bool = False,
) -> int:
    """Enable or disable the selected rules, or set their action; return how many changed.

    All rules change in one revision, or none does. None leaves a field unchanged.
    Raises MatchesEverything for a rule that would refuse every request, unless forced.
    """
    fields = {"enabled": enabled, "action": None if action is None else action.value}
    values = {name: value for name, value in fields.items() if value is not None}
    differing = list(chosen.exclude(**values).select_related("domain")) if values else []
    changes = []
    for rule in differing:
        before = describe(rule)
        for name, value in values.items():
            setattr(rule, name, value)
        if not force:
            refuse_matching_everything(rule)
        changes.append(difference(before, describe(rule)))
    for start in range(0, len(differing), _BATCH):
        WafRule.objects.filter(pk__in=[rule.pk for rule in differing[start : start + _BATCH]]).update(**values)
    if changes:
        revisions.advance(Segment.WAF_RULES, actor=actor, changes=changes)
    return len(changes)
