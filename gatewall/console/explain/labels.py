"""Labels of steps, reasons and policy objects, for operators."""

from django.utils.translation import gettext_lazy as _

from gatewall.engine.model import Reason
from gatewall.engine.steps import STEPS

STEP_TITLES = {step.name: _(step.title) for step in STEPS}
REASONS = {reason.value: _(reason.words) for reason in Reason}
OUTCOMES = {
    "allow": _("let through"),
    "challenge": _("asked to sign in"),
    "deny": _("refused"),
    "error": _("no answer"),
}
MISSING = {
    "request": _("what was asked is not recorded"),
    "credential": _("what was sent to sign in is not recorded"),
    "request-rate": _("how many other requests there were is not recorded"),
    "waf-rules": _("the parts that WAF rules look at are not recorded"),
}
ASSUMED = {
    "credential": _("what was sent to sign in still proves whom it proved then"),
    "request-rate": _("the address asks as often as it did then"),
    "waf-rules": _("rules that have not changed say what they said then"),
}
ACTIONS = {"created": _("added"), "changed": _("changed"), "deleted": _("removed")}
FORMS = {"as-sent": _("as sent"), "decoded": _("decoded"), "rewritten": _("rewritten")}
LIFETIMES = {"hour": _("1 hour"), "day": _("1 day"), "month": _("30 days")}
