"""Warnings about access rules that can never match, or that let in more than intended."""

from collections.abc import Iterable
from datetime import datetime

from django.utils import timezone

from gatewall.engine.access_rules.rules import AccessRule as EngineRule
from gatewall.engine.expiry import is_live
from gatewall.engine.hosts import Access
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from policies import geo, policy_source
from policies.access_rules.coverage import covers
from policies.models import AccessRule

_NAMED = 5
_CONDITIONS = ("domains", "paths", "methods", "networks", "countries", "asns", "weekdays")


def warnings_about(row: AccessRule) -> list[Message]:
    """Return the warnings about a rule at its current position."""
    rules = policy_source.access_rules()
    place = next((place for place, rule in enumerate(rules) if rule.id == row.pk), None)
    if place is None:
        return []  # disabled
    rule = rules[place]
    found = [*_never_matching(rules[:place], rule, rules[place + 1 :], timezone.now()), *_unknown(rule)]
    if rule.access is Access.PUBLIC and not any(getattr(rule, name) for name in _CONDITIONS):
        found.append(Message(_("the rule opens every path of every host to everybody")))
    return found


def _never_matching(
    earlier: Iterable[EngineRule], rule: EngineRule, later: Iterable[EngineRule], at: datetime
) -> Iterable[Message]:
    moment = at.timestamp()
    taker = next((each for each in earlier if is_live(each.expires_at, moment) and covers(each, rule)), None)
    if taker:
        words = _("the rule can never match: the earlier rule %(rule)s matches every request that it could")
        yield Message(words, rule=taker.name)
        return
    taken = [each.name for each in later if is_live(each.expires_at, moment) and covers(rule, each)]
    if taken and is_live(rule.expires_at, moment):
        names = ", ".join(taken[:_NAMED]) + (", …" if len(taken) > _NAMED else "")
        yield Message(_("the rule matches every request of later rules, which can never match: %(rules)s"), rules=names)


def _unknown(rule: EngineRule) -> Iterable[Message]:
    if rule.countries and not geo.describe(geo.in_use()):
        yield Message(_("there is no geo database: no country is known (GEOIP_DATABASE)"))
    if rule.asns and not geo.knows_autonomous_systems():
        yield Message(_("no geo database has autonomous systems: none is known (GEOIP_ASN_DATABASE)"))
