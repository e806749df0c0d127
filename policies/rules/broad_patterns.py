"""Detect WAF patterns that match nearly every request: usually a mistake that locks everyone out."""

from dataclasses import replace
from ipaddress import IPv4Address

from gatewall.engine.hosts import Authority
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import AccessRequest, Action
from gatewall.engine.waf.forms import Views
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.patterns import compile_pattern
from gatewall.engine.waf.rules import WafRule as EngineRule
from gatewall.kernel.refusals import Conflict
from policies.models import WafRule
from policies.policy_source import engine_rule


class MatchesEverything(Conflict):
    """The rule would refuse ordinary requests and was not forced."""

    code = "matches-everything"


def refuse_matching_everything(row: WafRule) -> None:
    """Raise MatchesEverything if an enabled, blocking custom rule matches every ordinary request."""
    if not row.enabled or row.builtin or row.action != Action.BLOCK:
        return
    if why := why_it_matches_everything(engine_rule(row)):
        raise MatchesEverything(
            _("%(rule)s: %(why)s; send force: true if you mean it"), rule=row.name, why=Message(why)
        )


def why_it_matches_everything(rule: EngineRule) -> str:
    """Return why the pattern matches nearly every request, wherever the rule applies; empty if it does not."""
    if compile_pattern(rule.pattern, rule.operator)(b""):
        return _("the pattern matches an empty text, and with it perhaps any")
    everywhere = RuleSet([replace(rule, domain=None, path_prefix=None, exclusions=(), builtin=False)])
    requests = [request for request in _ORDINARY if _has_value(request, rule)]
    if requests and all(everywhere.inspect(request, None) for request in requests):
        return _("the pattern matches every one of a number of ordinary requests")
    return ""


def _has_value(request: AccessRequest, rule: EngineRule) -> bool:
    views = Views(request)
    return any(value for target in rule.targets for _, value in views.of(target))


def _ordinary(line: str, host: str, agent: str, *, referer: str, cookie: str, body: bytes | None) -> AccessRequest:
    method, _, uri = line.partition(" ")
    name, _, value = cookie.partition("=")
    sent = (("accept", "*/*"), ("user-agent", agent), ("referer", referer), ("cookie", cookie))
    return AccessRequest(
        at=0.0,
        client=IPv4Address("192.0.2.1"),
        authority=Authority.parse(host),
        method=method,
        uri=uri,
        headers=sent,
        cookies=((name, value),),
        body=body,
    )


# As different as possible, so that only an extremely broad pattern matches all of them.
_ORDINARY = (
    _ordinary(
        "GET /index.html",
        "www.example.com",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
        referer="https://www.example.com/",
        cookie="theme=dark",
        body=None,
    ),
    _ordinary(
        "POST /Reports/2026?page=2&sort=name",
        "192.0.2.10:8443",
        "curl/8.5.0",
        referer="http://192.0.2.10/a?b=c",
        cookie="visits=12",
        body=b"name=Anna&age=41",
    ),
    _ordinary(
        "HEAD /static/app.js?v=9",
        "shop",
        "okhttp/4.12",
        referer="android-app://org.shop",
        cookie="consent=1",
        body=None,
    ),
    _ordinary(
        "PUT /api/v1/items/17?fields=id%2Cname",
        "intranet.test",
        "git/2.47.1",
        referer="https://intranet.test/items/17",
        cookie="lang=en-GB",
        body=b'{"id": 17, "on": true}',
    ),
    _ordinary(
        "OPTIONS /Q?hello",
        "[2001:db8::1]",
        "Wget/1.21",
        referer="https://search.invalid/?q=blue+bicycle",
        cookie="cart=empty",
        body=b"plain text",
    ),
)
