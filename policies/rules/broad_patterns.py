"""Detect WAF patterns that match nearly every request, and patterns that slow down every request."""

import logging
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Address

from django.db import transaction

from gatewall.engine.hosts import Authority
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import AccessRequest, Action
from gatewall.engine.waf.forms import Views
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.patterns import compile_pattern
from gatewall.engine.waf.prefilter import why_apart
from gatewall.engine.waf.rules import WafRule as EngineRule
from gatewall.kernel.refusals import Overridable
from policies.models import WafRule
from policies.policy_source import engine_rule

logger = logging.getLogger(__name__)


class MatchesEverything(Overridable):
    """The rule would refuse ordinary requests and was not forced."""

    code = "matches-everything"


def refuse_matching_everything(row: WafRule) -> None:
    """Raise MatchesEverything if an enabled, blocking custom rule matches every ordinary request."""
    if not row.enabled or row.builtin or row.action != Action.BLOCK:
        return
    if why := why_it_matches_everything(engine_rule(row)):
        raise MatchesEverything(_("%(rule)s: %(why)s"), rule=row.name, why=Message(why))


def why_it_matches_everything(rule: EngineRule) -> str:
    """Return why the pattern matches nearly every request, regardless of where the rule applies; else empty."""
    if compile_pattern(rule.pattern, rule.operator)(b""):
        return _("the pattern matches an empty text, and with it perhaps any")
    everywhere = RuleSet([replace(rule, domain=None, path_prefix=None, exclusions=(), builtin=False)])
    requests = [request for request in _ORDINARY_REQUESTS if _has_value(request, rule)]
    if requests and all(everywhere.inspect(request, None) for request in requests):
        return _("the pattern matches every one of a number of ordinary requests")
    return ""


def warnings_about(row: WafRule) -> list[str]:
    """Return the warnings about a custom rule whose pattern needs a separate scan, as texts."""
    why = "" if row.builtin else why_apart(engine_rule(row))
    if not why:
        return []
    return [f"RE2 scans for this pattern by itself, beside one scan for all others, which makes requests slower: {why}"]


def log_once(row: WafRule) -> None:
    """Log the warnings about a rule once its change is committed; call this only where its pattern is written.

    A dry run is rolled back, and therefore logs nothing.
    """
    for warning in warnings_about(row):
        write = partial(logger.warning, "WAF rule %d (%s): %s", row.pk, row.name, warning)
        transaction.on_commit(write)


def _has_value(request: AccessRequest, rule: EngineRule) -> bool:
    views = Views(request)
    return any(value for target in rule.targets for _, value in views.of(target))


def _ordinary(request: tuple[str, str, bytes | None], headers: tuple[str, str, str]) -> AccessRequest:
    line, host, body = request
    agent, referer, cookie = headers
    method, _, uri = line.partition(" ")
    name, _, value = cookie.partition("=")
    return AccessRequest(
        at=0.0,
        client=IPv4Address("192.0.2.1"),
        authority=Authority.parse(host),
        method=method,
        uri=uri,
        headers=(("accept", "*/*"), ("user-agent", agent), ("referer", referer), ("cookie", cookie)),
        cookies=((name, value),),
        body=body,
    )


_CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
# As different as possible, so that only an extremely broad pattern matches all of them.
_ORDINARY_REQUESTS = tuple(
    _ordinary(request, headers)
    for request, headers in (
        (("GET /index.html", "www.example.com", None), (_CHROME, "https://www.example.com/", "theme=dark")),
        (
            ("POST /Reports/2026?page=2&sort=name", "192.0.2.10:8443", b"name=Anna&age=41"),
            ("curl/8.5.0", "http://192.0.2.10/a?b=c", "visits=12"),
        ),
        (("HEAD /static/app.js?v=9", "shop", None), ("okhttp/4.12", "android-app://org.shop", "consent=1")),
        (
            ("PUT /api/v1/items/17?fields=id%2Cname", "intranet.test", b'{"id": 17, "on": true}'),
            ("git/2.47.1", "https://intranet.test/items/17", "lang=en-GB"),
        ),
        (
            ("OPTIONS /Q?hello", "[2001:db8::1]", b"plain text"),
            ("Wget/1.21", "https://search.invalid/?q=blue+bicycle", "cart=empty"),
        ),
    )
)
