"""Summary page of one domain: who may enter, rules, requests by path, suggestions, and WAF exclusions."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gatewall.api.own_origins import public_urls
from gatewall.console.explain.presentation import row_shown
from gatewall.console.explain.who_can_enter_page import ASKED, OUTCOMES
from gatewall.console.site import links
from gatewall.console.site.pages import OperatorPage
from gatewall.engine.hosts import Access, Authority, DomainTable
from gatewall.engine.model import Effect, Reason
from gatewall.policy import system_settings
from gatewall.replay.entrants import Entrants
from gatewall.whatif import site_summary
from gatewall.whatif.rule_suggestions import suggestions_for
from gatewall.whatif.who_can_enter import NotReadable, who_can_enter
from policies import cookie_reach, policy_source
from policies.access_rules.summary import conditions_of
from policies.models import AuthorizedDomain

_MAX_NAMES = 12
_REASONS = {reason.value: reason.words for reason in Reason}


class SitePage(OperatorPage):
    """Summary of one domain from policy and log; reads a bounded number of rows of each."""

    http_method_names = ["get", "head"]
    template, title = "console/site.html", _("Site")

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        domain, now = get_object_or_404(AuthorizedDomain, pk=pk), timezone.now()
        recent = site_summary.recent_requests(domain, now)
        return self.render(
            request,
            title=domain.name,
            domain=domain,
            asked=ASKED[Access(domain.access)],
            entrants=_entrants(domain),
            groups=site_summary.groups_of(domain),
            grants=site_summary.grants_of(domain, now),
            passes=[
                (row_shown({"kind": row.recorded.resource, "id": row.pk}), row)
                for row in site_summary.passes_of(domain, now)
            ],
            rules=[(rule, conditions_of(rule)) for rule in site_summary.rules_of(domain)],
            recent=recent,
            paths=[(each, _log(domain, path=f"{each.path}*")) for each in recent.paths],
            reasons=[
                (_REASONS.get(value, value), number, _log(domain, reason=value)) for value, number in recent.reasons
            ],
            days=site_summary.DAYS,
            suggestions=_suggestions(domain, now),
            waf_mode=system_settings.current().waf_mode,
            is_monitored=domain.waf_monitor_until is not None and domain.waf_monitor_until > now,
            exclusions=site_summary.exclusions_of(domain),
            reach=cookie_reach.warning_about(domain),
            links=_links(domain),
        )


class SiteOfHost(OperatorPage):
    """Redirect from ``?host=`` to the page of its domain, or to the form that registers it."""

    http_method_names = ["get", "head"]

    def get(self, request: HttpRequest) -> HttpResponse:
        authority = Authority.parse(request.GET.get("host", ""))
        found = DomainTable(policy_source.domains()).match(authority.host) if authority else None
        row = AuthorizedDomain.objects.filter(name=found.name).first() if found else None
        return redirect("console:site", row.pk) if row else redirect("console:first-site")


def _log(domain: AuthorizedDomain, **filters: object) -> str:
    """Return the URL of the log with the requests to a domain."""
    return links.log(None, host=domain.name, **filters)


def _example_host(name: str) -> str:
    return f"any{name[1:]}" if name.startswith("*.") else name


def _entrants(domain: AuthorizedDomain) -> dict[str, Any]:
    """Return who can enter the start page of the site, for the template; empty if the gate cannot decide it."""
    try:
        found: Entrants = who_can_enter(_example_host(domain.name), "/", "GET")
    except NotReadable:
        return {}
    enter = [each for each in found.people if each.effect is Effect.ALLOW]
    return {
        "everybody": OUTCOMES.get(found.everybody.effect, found.everybody.effect.value),
        "people": enter[:_MAX_NAMES],
        "more": max(0, len(enter) - _MAX_NAMES),
        "number": len(enter),
        "of": len(found.people),
        "unread": found.left_out,
        "networks": [each.name for each in found.networks if each.effect is Effect.ALLOW][:_MAX_NAMES],
    }


def _suggestions(domain: AuthorizedDomain, now: datetime) -> list[Any]:
    since = now - timedelta(days=site_summary.DAYS)
    return suggestions_for(domain.name, since, now, most=site_summary.MAX_ROWS).found


def _links(domain: AuthorizedDomain) -> dict[str, str]:
    """Return the pages about this domain."""
    scheme = "https" if "https" in "".join(public_urls()[:1]) else "http"
    host = _example_host(domain.name)

    def page(name: str, **query: str) -> str:
        return f"{reverse(name)}?{urlencode(query)}" if query else reverse(name)

    return {
        "log": _log(domain),
        "refused": _log(domain, outcome="deny"),
        "change": reverse("admin:policies_authorizeddomain_change", args=[domain.pk]),
        "waf": reverse("console:waf-report", args=[domain.pk]),
        "doctor": page("console:doctor", url=f"{scheme}://{host}/"),
        "who": page("console:who-can-enter", host=host),
        "suggestions": page("console:suggested-rules", domain=domain.name, window="604800"),
        "profiles": page("console:app-profiles", domain=domain.name),
        "rule": page("admin:policies_accessrule_add", domains=str(domain.pk)),
        "grant": page("admin:policies_grant_add", domain=str(domain.pk)),
    }
