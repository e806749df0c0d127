"""WAF rules."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.model import Action
from gatewall.engine.snapshot import Segment
from gatewall.engine.waf.rules import Category, Operator, Severity, Target
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record, choices
from policies import validators
from policies.exclusions import validate_exclusions
from policies.models.domains import AuthorizedDomain


def default_targets() -> list[str]:
    """Return the default targets of a WAF rule."""
    return [Target.URI.value]


class WafRule(Record):
    """A pattern that is searched in requests. A row with a ``builtin_key`` is a built-in rule."""

    name = models.CharField(max_length=100, unique=True)
    pattern = models.TextField(max_length=4096)
    operator = models.CharField(max_length=16, choices=choices(Operator), default=Operator.REGEX.value)
    targets = models.JSONField(default=default_targets, validators=[validators.validate_targets])
    transforms = models.JSONField(default=list, blank=True, validators=[validators.validate_transforms])
    category = models.CharField(max_length=16, choices=choices(Category), default=Category.CUSTOM.value)
    severity = models.CharField(max_length=16, choices=choices(Severity), default=Severity.MEDIUM.value)
    score = models.PositiveSmallIntegerField(default=5, validators=[MinValueValidator(1), MaxValueValidator(10)])
    action = models.CharField(max_length=16, choices=choices(Action), default=Action.BLOCK.value)
    priority = models.PositiveIntegerField(default=100, validators=[MaxValueValidator(1_000_000)])
    enabled = models.BooleanField(default=True)
    # Cascade: without its domain, the rule would refuse requests on every host.
    domain = models.ForeignKey(
        AuthorizedDomain, on_delete=models.CASCADE, null=True, blank=True, related_name="waf_rules"
    )
    path_prefix = models.CharField(max_length=500, null=True, blank=True, validators=[validators.validate_path_prefix])
    exclusions = models.JSONField(default=list, blank=True, validators=[validate_exclusions])
    description = models.CharField(max_length=1000, blank=True)
    builtin_key = models.CharField(max_length=64, null=True, unique=True, editable=False)

    recorded = Recorded(
        Resource.WAF_RULES,
        api_fields(
            *("name", "pattern", "operator", "targets", "transforms", "category", "severity", "score", "action"),
            *("priority", "enabled", "path_prefix", "exclusions", "description", "builtin", "domain"),
        ),
    )
    segments = (Segment.WAF_RULES,)

    class Meta:
        verbose_name = _("WAF rule")
        verbose_name_plural = _("WAF rules")
        ordering = ["priority", "id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(score__gte=1, score__lte=10), name="waf_score_in_range"),
            models.CheckConstraint(
                condition=models.Q(action__in=[action.value for action in Action]), name="waf_action_is_known"
            ),
            models.CheckConstraint(
                condition=models.Q(operator__in=[operator.value for operator in Operator]),
                name="waf_operator_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def builtin(self) -> bool:
        """Return whether the rule is built in: its pattern is fixed and it cannot be deleted."""
        return self.builtin_key is not None
