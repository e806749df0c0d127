"""The page of a domain's WAF monitoring: start it, see what would have been refused, add exclusions, block again."""

import uuid
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.log import selectors
from audit.spool.rows import record_of_row
from gatewall.api.caller import caller_of
from gatewall.api.translation import messages_of
from gatewall.console.explain.explain_pages import LIFETIMES
from gatewall.console.site import links
from gatewall.console.site.pages import OperatorPage
from gatewall.engine.snapshot import EnforcementMode
from gatewall.kernel.refusals import Refusal
from gatewall.policy import system_settings
from gatewall.whatif import exemptions
from gatewall.whatif.offers import Lifetime
from gatewall.whatif.replay_record import decide_again
from gatewall.whatif.waf_monitoring import USUAL_DAYS, Found, report_of
from policies import services
from policies.models import AuthorizedDomain

_WINDOWS = ("1", "7", "14", "30", "90")


class WafReportPage(OperatorPage):
    """Requests that the WAF would have refused at a domain, and buttons to monitor, to add exclusions, to block."""

    template, title = "console/waf_report.html", _("WAF of a domain")

    def get(self, request: HttpRequest, pk: int) -> HttpResponse:
        days = request.GET.get("days", str(USUAL_DAYS))
        if days not in _WINDOWS:
            raise Http404
        return self._page(request, get_object_or_404(AuthorizedDomain, pk=pk), days)

    def post(self, request: HttpRequest, pk: int) -> HttpResponse:
        domain = get_object_or_404(AuthorizedDomain, pk=pk)
        try:
            match request.POST.get("do", ""):
                case "monitor":
                    self._monitor(request, domain)
                case "block":
                    self._set_end(request, domain, None)
                    messages.success(request, gettext("The WAF refuses attacks at this domain again."))
                case "except":
                    self._except(request)
                case _:
                    raise Http404
        except (Refusal, ValidationError) as error:
            messages.error(request, " ".join(messages_of(error)))
            return self._page(request, domain, str(USUAL_DAYS), HTTPStatus.CONFLICT)
        return redirect("console:waf-report", pk)

    def _monitor(self, request: HttpRequest, domain: AuthorizedDomain) -> None:
        until = timezone.now().replace(microsecond=0) + timedelta(days=USUAL_DAYS)
        self._set_end(request, domain, until)
        words = gettext("For seven days the WAF only records here what it would refuse. Then an event reports it.")
        messages.success(request, words)

    def _set_end(self, request: HttpRequest, domain: AuthorizedDomain, until: Any) -> None:
        services.change_domain(domain, actor=str(request.user), caller=caller_of(request), waf_monitor_until=until)

    def _except(self, request: HttpRequest) -> None:
        try:
            row = selectors.answer(uuid.UUID(request.POST.get("decision_id", "")))
            lifetime = Lifetime(request.POST.get("lifetime", ""))
        except ValueError:
            raise Http404 from None
        if row is None:
            raise Http404
        record, key = record_of_row(row), request.POST.get("offer", "")
        exemptions.apply(
            record, decide_again(record), key, lifetime, actor=str(request.user), caller=caller_of(request)
        )
        messages.success(request, gettext("The exemption is added."))

    def _page(
        self, request: HttpRequest, domain: AuthorizedDomain, days: str, status: HTTPStatus = HTTPStatus.OK
    ) -> HttpResponse:
        now = timezone.now()
        until, report = domain.waf_monitor_until, report_of(domain, now, int(days))
        mode = system_settings.current().waf_mode
        return self.render(
            request,
            status,
            domain=domain,
            mode=mode,
            is_off=mode == EnforcementMode.OFF,
            is_blocking=mode == EnforcementMode.BLOCK,
            is_monitored=until is not None and until > now,
            report=report,
            rules=[{"rule": each, **_examples(each.found, rule_id=each.id)} for each in report.rules],
            hosts=[{"host": host, "found": found, **_examples(found, host=host)} for host, found in report.hosts],
            days=days,
            windows=_WINDOWS,
            lifetimes=[(value, words) for value, words in reversed(LIFETIMES.items())],
        )


def _examples(found: Found, **filters: Any) -> dict[str, Any]:
    """Return the links to the newest requests, and to all of them in the log."""
    log = links.log(would_refuse="true", **filters)
    return {"examples": [links.explain(row.decision_id) for row in found.examples], "log": log}
