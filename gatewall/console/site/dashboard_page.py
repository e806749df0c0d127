"""Dashboard: figures of a window compared with the previous one, and the health of every component."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.counting.counts import MAX_PATH
from audit.event_kinds import EventKind
from audit.events.selectors import newest_of
from audit.figures.statistics import Bar, Window
from gatewall.console.site import charts, links
from gatewall.console.site.charts import Chart, Series
from gatewall.console.site.pages import REFRESH_CHOICES, OperatorPage, refresh_labels, refreshed
from gatewall.console.site.verdict import verdict
from gatewall.console.site.world import world
from gatewall.health import dashboard as figures
from gatewall.health.dashboard import SPANS, Client, DashboardData
from gatewall.health.health import checks
from gatewall.health.indicators import indicators_at
from policies.countries import COUNTRY_NAMES
from policies.models import pending
from policies.selectors import domains_warning

_OUTCOMES = ("allow", "challenge", "deny", "error")
_DEVICES = (EventKind.DEVICE_REMEMBERED, EventKind.PASSKEY_ADDED, EventKind.TOTP_DEVICE_ADDED)
_NEWEST = 5
"""Rows of a short list."""


class Dashboard(OperatorPage):
    """The figures of one window, linked to the rows behind them."""

    template = "console/dashboard.html"
    title = gettext_lazy("Dashboard")

    def get(self, request: HttpRequest) -> HttpResponse:
        wrong = _wrong(request)
        if wrong:
            return self.render(request, HTTPStatus.BAD_REQUEST, wrong=wrong, choices=_choices("24h", "0"))
        name, seconds = request.GET.get("window", "24h"), request.GET.get("refresh", REFRESH_CHOICES[0])
        at = timezone.now()
        data = figures.dashboard_data(at, name)
        indicators = indicators_at(at, data.window)
        context = {
            "at": at,
            "choices": _choices(name, seconds),
            "refresh": seconds,
            "data": data,
            "tiles": _tiles(data, at),
            "chart": _chart(data),
            "rows": _rows(data),
            "lists": _lists(data),
            "clients": _clients(data),
            "world": world(data.world),
            "people": _people(data),
            "indicators": indicators,
            "verdict": verdict(data, indicators, checks(), domains_warning()),
            "untrusted_link": links.events(data.window, [EventKind.PROXY_UNTRUSTED]),
            "shortened_link": links.events(data.window, [EventKind.LOG_SHORTENED]),
            "mail_link": links.events(data.window, [EventKind.MAIL_FAILED]),
            "gap_link": links.events(data.window, [EventKind.LOG_GAP]),
        }
        return refreshed(self.render(request, **context), seconds)


def _wrong(request: HttpRequest) -> list[str]:
    known = {"window": tuple(SPANS), "refresh": REFRESH_CHOICES}
    wrong = []
    for name, values in request.GET.lists():
        if name not in known:
            wrong.append(_("There is no parameter %(name)s.") % {"name": name[:80]})
        elif len(values) > 1 or values[0] not in known[name]:
            wrong.append(_("%(name)s is one of %(values)s.") % {"name": name, "values": ", ".join(known[name])})
    return wrong


def _choices(window: str, seconds: str) -> dict[str, Any]:
    """Return the links of the two switches: text, query, and whether it is active."""
    words = {"1h": _("1 hour"), "24h": _("24 hours"), "7d": _("7 days"), "30d": _("30 days")}
    return {
        "windows": [(words[each], _query(each, seconds), each == window) for each in SPANS],
        "refreshes": [(label, _query(window, each), each == seconds) for each, label in refresh_labels().items()],
    }


def _query(window: str, seconds: str) -> str:
    return "?" + urlencode({"window": window, **({"refresh": seconds} if seconds != REFRESH_CHOICES[0] else {})})


def _tiles(data: DashboardData, at: datetime) -> list[dict[str, Any]]:
    now, before, window = data.now, data.before, data.window
    counts, earlier = now.outcomes.counts, before.outcomes.counts
    slowest, slowest_before = now.latency_us["p99"], before.latency_us["p99"]
    slow = {"latency_us_min": slowest} if slowest else {}
    failed = links.events(window, figures.FAILED_SIGN_INS)
    return [
        _tile(_("Requests"), now.outcomes.total, before.outcomes.total, links.log(window)),
        _tile(_("Refused"), counts["deny"], earlier["deny"], links.log(window, outcome="deny"), kind="deny"),
        _tile(_("Challenged"), counts["challenge"], earlier["challenge"], links.log(window, outcome="challenge")),
        _tile(_("Block rate"), f"{now.block_rate:.1%}", f"{before.block_rate:.1%}", links.log(window, outcome="deny")),
        _tile(_("Failed sign-ins"), now.failed_sign_ins, before.failed_sign_ins, failed),
        {"label": _("Active bans"), "value": f"{data.bans:,}", "url": links.bans(at), "kind": "", "note": _("now")},
        _tile(_("p99 of /auth"), _time(slowest), _time(slowest_before), links.log(window, **slow)),
    ]


def _tile(label: str, value: int | str, before: int | str, url: str, *, kind: str = "") -> dict[str, Any]:
    note = _("before: %(value)s") % {"value": _text(before)}
    return {"label": label, "value": _text(value), "note": note, "url": url, "kind": kind}


def _text(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def _time(microseconds: int | None) -> str:
    if microseconds is None:
        return "-"
    return f"{microseconds / 1000:,.1f} ms" if microseconds >= 1000 else f"{microseconds} µs"


def _chart(data: DashboardData) -> Chart:
    format_ = "%H:%M" if data.interval < timedelta(hours=1) else "%m-%d %H:%M"
    labels = [bar.at.strftime(format_) for bar in data.bars]
    series = [Series(kind, [bar.outcomes.counts[kind] for bar in data.bars]) for kind in _OUTCOMES]
    moments = [links.moment(bar.at) for bar in data.bars]
    return charts.trend(labels, series, [bar.outcomes.total for bar in data.bars_before], moments)


def _rows(data: DashboardData) -> list[dict[str, Any]]:
    """Return the table of the chart: a row per bar, with a link to its requests."""
    ends = [bar.at for bar in data.bars[1:]] + [data.window.end]
    before: Sequence[Bar | None] = [*data.bars_before, *[None] * len(data.bars)]
    return [
        {
            "at": bar.at,
            "url": links.log(Window(bar.at, end)),
            "total": bar.outcomes.total,
            "counts": [bar.outcomes.counts[kind] for kind in _OUTCOMES],
            "before": earlier.outcomes.total if earlier else 0,
        }
        for bar, end, earlier in zip(data.bars, ends, before, strict=False)
    ]


def _lists(data: DashboardData) -> dict[str, dict[str, Any]]:
    """Return the lists by name: title, items with their links, and the maximum undercount."""
    window = data.window
    rules = [(each["name"], each["count"], links.log(window, rule_id=each["id"])) for each in data.rules]
    refusals = [(key, number, links.log(window, outcome="deny", reason=key)) for key, number in data.refusals]
    reasons = [(key, number, links.log(window, reason=key)) for key, number in data.reasons]
    hosts = [(key, number, links.log(window, host=key)) for key, number in data.hosts]
    paths = [(key, number, links.log(window, path=_all_of(key))) for key, number in data.paths]
    countries = [(_country(key), number, links.log(window, country_code=key)) for key, number in data.countries]
    return {
        "refusals": _list(_("Why they were refused"), refusals),
        "rules": _list(_("WAF rules that matched"), rules),
        "reasons": _list(_("Decisions by reason"), reasons),
        "hosts": _list(_("Top sites"), hosts, data.error["host"]),
        "paths": _list(_("Top paths"), paths, data.error["path"]),
        "countries": _list(_("Countries"), countries),
    }


def _all_of(path: str) -> str:
    """Return the filter for a counted path, which may be the beginning of a longer one."""
    return path if len(path) < MAX_PATH else f"{path}*"


def _list(title: str, items: list[tuple[str, int, str]], error: int = 0) -> dict[str, Any]:
    return {"title": title, "items": _items(items), "error": error}


def _country(code: str) -> str:
    return f"{_(COUNTRY_NAMES[code])} ({code})" if code in COUNTRY_NAMES else code or _("unknown")


def _people(data: DashboardData) -> dict[str, Any]:
    """Return news about people: pending access requests, and devices that were added in the window."""
    window, waiting = data.window, pending()
    return {
        "waiting": waiting[:_NEWEST],
        "number": waiting.count(),
        "devices": newest_of(_DEVICES, window.start, window.end, _NEWEST),
        "devices_link": links.events(window, _DEVICES),
    }


def _items(items: list[tuple[str, int, str]]) -> list[dict[str, Any]]:
    most = max((number for _, number, _ in items), default=0)
    return [
        {"label": label, "shown": f"{number:,}", "url": url, "share": charts.share(number, most)}
        for label, number, url in items
    ]


def _clients(data: DashboardData) -> dict[str, dict[str, Any]]:
    window, error = data.window, data.error
    refused, everyone = _client_rows(window, data.refused_clients, outcome="deny"), _client_rows(window, data.clients)
    return {
        "refused": {"title": _("Who was refused"), "rows": refused, "error": error["denied-client"]},
        "everyone": {"title": _("All clients"), "rows": everyone, "error": error["client"]},
    }


def _client_rows(window: Window, clients: Sequence[Client], **filters: str) -> list[dict[str, Any]]:
    return [
        {
            "address": client.address,
            "country": client.country_code,
            "count": client.count,
            "shown": f"{client.count:,}",
            "url": links.log(window, client_ip=client.address, **filters),
            "ban": links.ban(client.address),
            "allow": links.allow(client.address),
            "blast": links.blast_radius(client.address),
        }
        for client in clients
    ]
