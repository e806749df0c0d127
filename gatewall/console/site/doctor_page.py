"""Page of the proxy doctor: which facts the proxy passes to the gate, and which of them a visitor can forge."""

from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gatewall.api.translation import translated
from gatewall.console.site.pages import OperatorPage
from gatewall.doctor.examination import ExaminationRunning, examine
from gatewall.doctor.probing.sending import Way
from gatewall.doctor.probing.snippets import samples
from gatewall.doctor.probing.target import TargetRefused
from gatewall.doctor.probing.this_request import ThisRequest, this_request
from gatewall.doctor.report import own_host, place_of, report
from gatewall.engine.hosts import Authority, DomainTable
from gatewall.proxy_config.rendering import KINDS
from policies import policy_source

_FIELDS = frozenset({"proxy", "url", "upstream"})
_MOST_DOMAINS = 200
_MAX_URL = 2000
_MAX_UPSTREAM = 255
VERDICTS = {
    "ok": gettext_lazy("right"),
    "wrong": gettext_lazy("wrong"),
    "unknown": gettext_lazy("check it"),
    "not-applicable": gettext_lazy("cannot be seen from here"),
}


class Doctor(OperatorPage):
    """The form, the facts of this request, and the results of an examination."""

    template = "console/doctor.html"
    title = gettext_lazy("Proxy doctor")

    def get(self, request: HttpRequest) -> HttpResponse:
        kind, url = request.GET.get("proxy", ""), request.GET.get("url", "")
        if set(request.GET) - _FIELDS or (kind and kind not in KINDS) or len(url) > _MAX_URL:
            return self._page(request, HTTPStatus.BAD_REQUEST, error=_("This proxy is unknown."))
        return self._page(request, kind=kind, url=url, upstream=request.GET.get("upstream", "")[:_MAX_UPSTREAM])

    def post(self, request: HttpRequest) -> HttpResponse:
        """Examine the site; nothing is stored, so the response is the report."""
        kind, url = request.POST.get("proxy", ""), request.POST.get("url", "").strip()
        values: dict[str, Any] = {"kind": kind if kind in KINDS else "", "url": url[:_MAX_URL]}
        values["self_signed"] = request.POST.get("self_signed") == "on"
        values["upstream"] = request.POST.get("upstream", "").strip()[:_MAX_UPSTREAM]
        if kind and kind not in KINDS:
            return self._page(request, HTTPStatus.BAD_REQUEST, error=_("This proxy is unknown."), **values)
        try:
            way = Way(self_signed=values["self_signed"])
            evidence = examine(url, kind=kind or None, way=way, upstream=values["upstream"])
        except TargetRefused as refused:
            return self._page(request, HTTPStatus.BAD_REQUEST, error=translated(refused.message), **values)
        except ExaminationRunning as refused:
            return self._page(request, HTTPStatus.CONFLICT, error=translated(refused.message), **values)
        return self._page(request, found=_with_labels(report(evidence)), **values)

    def _page(
        self, request: HttpRequest, status: HTTPStatus = HTTPStatus.OK, *, kind: str = "", url: str = "", **values: Any
    ) -> HttpResponse:
        arrived = _this_request(request)
        context = {
            "arrived": arrived,
            "is_line_red": arrived.is_ignored,
            "kinds": KINDS,
            "kind": kind,
            "kind_name": KINDS.get(kind, ""),
            "url": url or _likely_site(request, arrived),
            "domains": [domain.name for domain in policy_source.domains()[:_MOST_DOMAINS]],
            "samples": samples(kind, place_of(own_host())) if kind else [],
            **values,
        }
        return self.render(request, status, **context)


def _this_request(request: HttpRequest) -> ThisRequest:
    sent = request.META
    return this_request(
        sent.get("REMOTE_ADDR") or "",
        sent.get("HTTP_X_FORWARDED_FOR"),
        sent.get("HTTP_HOST") or "",
        sent.get("HTTP_X_FORWARDED_HOST"),
        settings.GATEWALL_TRUSTED_PROXIES,
    )


def _likely_site(request: HttpRequest, arrived: ThisRequest) -> str:
    """Return the default of the form: the site of the page's own URL, if it may be examined, or the demo site."""
    proto = request.META.get("HTTP_X_FORWARDED_PROTO") if arrived.is_peer_trusted else None
    scheme = proto if proto in {"http", "https"} else request.scheme or "http"
    authority = Authority.parse(
        arrived.forwarded_host if arrived.is_peer_trusted and arrived.forwarded_host else arrived.host
    )
    if authority is None or DomainTable(policy_source.domains()).match(authority.host) is None:
        return ""
    if settings.GATEWALL_DEMO and authority.port == settings.GATEWALL_PORT:  # asked directly: nothing to examine
        authority = replace(authority, port=settings.GATEWALL_DEMO_PORT)
    return f"{scheme}://{authority}/"


def _with_labels(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report with labels of its verdicts, and the number of checks by verdict."""
    for check in report["checks"]:
        check["is_open"] = check["verdict"] in {"wrong", "unknown"}
        for part in (check, *check["findings"]):
            part["verdict_words"] = VERDICTS[part["verdict"]]
    counts = {name: sum(check["verdict"] == name for check in report["checks"]) for name in VERDICTS}
    return report | {
        "verdict_words": VERDICTS[report["verdict"]],
        "counts": [(name, VERDICTS[name], number) for name, number in counts.items() if number],
    }
