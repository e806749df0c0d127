"""Verdict of the dashboard: one sentence for each problem, with what to do about it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from audit.event_kinds import EventKind
from gatewall.api.translation import translated
from gatewall.console.site import links
from gatewall.engine.waf.matcher import WAITING
from gatewall.health.dashboard import DashboardData
from gatewall.health.indicators import Indicators, Level, NodeIndicator
from policies.selectors import NONE_REGISTERED

HOSTS = "#hosts"
"""The table of hosts on the same page."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem, and what to do about it; ``url`` is empty if no page helps."""

    level: Level
    what: str
    fix: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict in one sentence, and the problems, the worst first."""

    problems: Sequence[Problem]

    @property
    def level(self) -> Level:
        return self.problems[0].level if self.problems else Level.GOOD

    @property
    def sentence(self) -> str:
        bad = sum(problem.level is Level.BAD for problem in self.problems)
        if bad:
            return ngettext("%(number)d thing is wrong.", "%(number)d things are wrong.", bad) % {"number": bad}
        number = len(self.problems)
        if number:
            words = ngettext(
                "Nothing is broken; %(number)d thing needs attention.",
                "Nothing is broken; %(number)d things need attention.",
                number,
            )
            return words % {"number": number}
        return _("Nothing is wrong.")


def verdict(data: DashboardData, indicators: Indicators, checks: Mapping[str, str], warning: str) -> Verdict:
    """Return the problems of these figures, indicators and health checks; ``warning`` is the one about domains."""
    found = [*_domains(warning), *_hosts(indicators), *_checks(checks), *_attacks(data), *_log(data, indicators)]
    found += [*_surroundings(data, indicators), *_notices(data, indicators)]
    return Verdict(sorted(found, key=lambda problem: problem.level is not Level.BAD))


def _domains(warning: str) -> Iterator[Problem]:
    if warning:
        level = Level.BAD if warning == NONE_REGISTERED else Level.LOOK
        what = f"{capfirst(translated(warning))}."
        yield Problem(level, what, _("Review the domains"), _list("policies_authorizeddomain"))


def _hosts(indicators: Indicators) -> Iterator[Problem]:
    if not indicators.nodes:
        yield Problem(Level.BAD, _("No host has reported yet."), _("Start the agent: gatewall up"))
    for each in indicators.nodes:
        if each.level is not Level.GOOD:
            yield Problem(each.level, _of_host(each), _("See the hosts"), HOSTS)


def _of_host(each: NodeIndicator) -> str:
    name = {"host": each.node.name}
    if each.is_silent:
        return _("The agent of %(host)s is silent: changes and its access log do not arrive.") % name
    if each.node.problem:
        return _("%(host)s reports: %(problem)s") % {**name, "problem": each.node.problem}
    if each.is_unconfirmed:
        return _("%(host)s could not compare its policy with the database.") % name
    if any(worker.rejected for worker in each.workers):
        return _("A worker of %(host)s refused the newest policy, and decides with an older one.") % name
    return _("%(host)s does not decide with the newest policy yet.") % name


def _checks(checks: Mapping[str, str]) -> Iterator[Problem]:
    if checks["spool"] != "ok":
        what = _("The folder of the access log's spool cannot be written: requests are refused.")
        yield Problem(Level.BAD, what, _("Make room on its disk"))
    if checks["policy"] != "ok":
        yield Problem(Level.BAD, checks["policy"], _("See the hosts"), HOSTS)
    if checks.get("waf", "ok") != "ok":
        what = _("The WAF decides as always, but slower: %(problem)s.") % {"problem": checks["waf"]}
        fix = _("Wait some minutes") if checks["waf"] == WAITING else _("Read the log of the workers")
        yield Problem(Level.LOOK, what, fix)


def _attacks(data: DashboardData) -> Iterator[Problem]:
    if data.attacks:
        number = {"number": data.attacks}
        what = ngettext("%(number)d attack was detected.", "%(number)d attacks were detected.", data.attacks) % number
        yield Problem(Level.LOOK, what, _("See who attacked"), links.events(data.window, [EventKind.ATTACK_DETECTED]))


def _log(data: DashboardData, indicators: Indicators) -> Iterator[Problem]:
    if indicators.lag_level is Level.BAD:
        what = _("The access log is %(seconds)d s behind.") % {"seconds": indicators.lag_seconds or 0}
        yield Problem(Level.BAD, what, _("See the hosts"), HOSTS)
    if indicators.gap_level is Level.BAD:
        what = _("%(number)d records of the access log were lost.") % {"number": sum(indicators.gaps.values())}
        yield Problem(Level.BAD, what, _("See when and why"), links.events(data.window, [EventKind.LOG_GAP]))
    if indicators.size_level is not Level.GOOD:
        what = _("The access log is full: its oldest rows were removed to make room.")
        yield Problem(Level.LOOK, what, _("Raise its limit"), _list("gatewall_systemsettings"))


def _surroundings(data: DashboardData, indicators: Indicators) -> Iterator[Problem]:
    if indicators.geo is None:
        what = _("There is no geo database, so no country is known.")
        yield Problem(Level.LOOK, what, _("Run: gatewall geo install"))
    elif indicators.geo_level is not Level.GOOD:
        what = _("The geo database is %(days)d days old.") % {"days": indicators.geo_days}
        yield Problem(Level.LOOK, what, _("Run: gatewall geo install"))
    if data.untrusted:
        what = _("A peer that is not a trusted proxy sent forwarding headers, which were ignored.")
        yield Problem(Level.LOOK, what, _("Check the proxy"), reverse("console:doctor"))


def _notices(data: DashboardData, indicators: Indicators) -> Iterator[Problem]:
    deliveries = f"{_list('webhooks_delivery')}?status__exact=failed"
    if indicators.webhook_level is Level.BAD:
        yield Problem(Level.BAD, _("Notices of webhooks could not be delivered."), _("See which"), deliveries)
    elif indicators.webhook_level is Level.LOOK:
        yield Problem(Level.LOOK, _("A webhook cannot be reached."), _("Check its address"), _list("webhooks_webhook"))
    if indicators.mail_level is not Level.GOOD:
        mails = links.events(data.window, [EventKind.MAIL_FAILED])
        yield Problem(indicators.mail_level, _("Mails to users could not be sent."), _("See why"), mails)


def _list(name: str) -> str:
    return reverse(f"admin:{name}_changelist")
