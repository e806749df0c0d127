"""Translated texts of the doctor's checks, findings and fixes."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from gatewall.api.translation import translated
from gatewall.doctor.probing.findings import Finding
from gatewall.engine.messages import Message

TITLES: dict[str, Promise] = {
    "asked": _("The gate is asked"),
    "trusted-peer": _("The proxy is trusted"),
    "client-address": _("Client address"),
    "host": _("Host and scheme"),
    "method": _("Method"),
    "uri": _("Path and query"),
    "identity": _("Identity headers"),
    "sign-in": _("Sign-in: 401 and the guard page"),
    "refusal": _("Refusal: 403"),
    "hidden": _("Internal endpoints"),
    "asked-every-time": _("The gate is asked every time"),
    "connections": _("WebSockets and long downloads"),
    "around": _("No way around the gate"),
}
WHY: dict[str, Promise] = {
    "asked": _("If the proxy does not ask the gate about a request, it reaches your site from anyone."),
    "trusted-peer": _("Forwarding headers from an untrusted peer are ignored: all visitors look like one."),
    "client-address": _(
        "Blocklist, allowlist, countries and bans depend on it. A visitor who can forge it bypasses them all."
    ),
    "host": _("The gate finds the domain by it. A visitor who can forge it enters one site by the rules of another."),
    "method": _("WAF rules may depend on it, and the access log would show another method than the one used."),
    "uri": _("The WAF inspects it. If gate and site read different paths, an attack can pass the gate."),
    "identity": _("Your site trusts Remote-User. A copy that a visitor sends must never reach it."),
    "sign-in": _("Browsers must reach the guard page. Programs must get 401, or they read a page as data."),
    "refusal": _(
        "If the proxy changes a refusal, the page may never load or access may be granted. The decision id leads to "
        "the reason in the log."
    ),
    "hidden": _("The gate's auth endpoint, metrics and recovery are for your own machines only."),
    "asked-every-time": _("A cached answer lets somebody in after sign-out, a ban or expiry."),
    "connections": _(
        "The gate is asked once, when a connection opens. An open connection stays open after sign-out, a ban or"
        " expiry."
    ),
    "around": _("A client that reaches the site directly is not checked, and can set Remote-User itself."),
}
FIXES: dict[str, Promise] = {
    "asked": _("Configure the proxy to ask the gate about every location of the site, without exceptions."),
    "trusted-peer": _(
        "Name the addresses of your proxies, and no others, in GATEWALL_TRUSTED_PROXIES, and restart Gatewall."
    ),
    "client-address": _(
        "Configure the proxy to set X-Forwarded-For to the address of the connection, and not to append to a"
        " received value."
    ),
    "host": _("Configure the proxy to set X-Forwarded-Host and X-Forwarded-Proto itself, whatever the visitor sends."),
    "method": _("Configure the proxy to set X-Forwarded-Method itself, whatever the visitor sends."),
    "uri": _(
        "Configure the proxy to pass the path exactly as received, neither decoded nor normalized, to the gate "
        "and to the site."
    ),
    "identity": _("Configure the proxy to take these headers only from the gate's answer."),
    "sign-in": _("Pass 401 on with WWW-Authenticate; send page loads to the Location that the gate names."),
    "refusal": _("Pass 403 on as 403, with X-Gatewall-Decision-Id. No error page may change its status."),
    "hidden": _("Answer 404 for these paths before anything else."),
    "asked-every-time": _("Switch off every cache between the proxy and the gate."),
    "connections": _("Configure the proxy to ask the gate about WebSocket handshakes like about every other request."),
    "around": _(
        "Have the site listen on 127.0.0.1 or on a network that only the proxy is in, or close its port to all"
        " others; or have the site verify X-Gatewall-Identity."
    ),
}
_MEANINGS: dict[str, Promise] = {
    "around-asked": _("%(at)s: the gate was asked there, too."),
    "around-closed": _("%(at)s: no connection from here (%(failure)s)."),
    "around-inside": _(
        "%(at)s answered %(status)s, and the gate was not asked. Every machine that reaches this address bypasses"
        " the gate: that is right only if no machine but the proxy can."
    ),
    "around-no-answer": _("%(at)s takes connections, but gave no HTTP answer (%(failure)s)."),
    "around-not-named": _(
        "Give the address where the site listens (--upstream, or the field of the form) to see whether it can be"
        " reached there."
    ),
    "around-open": _(
        "%(at)s is a public address, answered %(status)s, and the gate was not asked: anybody can bypass it."
    ),
    "around-own-address": _(
        "%(at)s, an address of this machine, answered %(status)s, and the gate was not asked. The site does not listen"
        " on 127.0.0.1 alone; whether a firewall closes the port to others cannot be seen from this machine."
    ),
    "around-refused": _("%(at)s: the site itself refused a request without the gate (%(status)s)."),
    "around-this-machine": _("%(at)s answered %(status)s; only programs on this machine reach this address."),
    "asked": _("The gate was asked: decision %(decision)s, %(reason)s."),
    "asked-again": _("The gate was asked again about a repeated request."),
    "attack-not-refused": _(
        "The WAF did not refuse the test attack (%(reason)s, %(status)s), so no 403 could be seen."
    ),
    "cannot-decide": _("The gate could not decide (503)."),
    "challenge-missing": _("The 401 came out without WWW-Authenticate."),
    "connections-can-be-ended": _(
        "%(proxy)s can end open connections after a time: gatewall proxy-config %(kind)s --max-connection-seconds."
        " Whether yours does cannot be seen from outside."
    ),
    "connections-cannot-be-ended": _(
        "The configuration that Gatewall writes for %(proxy)s has no limit for the whole time of a connection: an open"
        " one ends when site or visitor close it, or when it is idle."
    ),
    "client-changed": _("The gate saw %(client)s this time and %(before)s before."),
    "client-elsewhere": _(
        "The gate saw %(client)s, the doctor's connection came from %(here)s. That is right if something "
        "between them changes addresses (NAT, a load balancer); if it is the address of your own proxy, all "
        "visitors look like one."
    ),
    "client-forged": _("%(header)s from a visitor is trusted: the gate saw %(client)s."),
    "client-forged-by-trusted": _(
        "%(header)s from a visitor is trusted: the gate saw %(client)s. The doctor's own address is trusted, so a"
        " header that the proxy appends to looks the same as one that it keeps; configure the proxy to replace it in"
        " both cases."
    ),
    "client-forged-refused": _("A forged address was refused."),
    "client-not-told": _(
        "The proxy sends no client address: to the gate the proxy itself, %(client)s, is the visitor."
    ),
    "client-right": _("The gate saw %(client)s, the address of the doctor's connection."),
    "client-unforged": _("Forged headers were ignored: %(headers)s."),
    "host-forged": _("%(header)s from a visitor is trusted: the gate saw %(host)s."),
    "host-forged-refused": _("A forged host was refused."),
    "host-not-told": _("The proxy sends no host: the gate saw %(host)s."),
    "host-other": _("The gate saw %(host)s instead of %(asked)s."),
    "host-right": _("The gate saw %(host)s."),
    "host-unforged": _("Forged headers were ignored: %(headers)s."),
    "identity-believed": _("The gate identified the doctor as %(subject)s."),
    "identity-not-seen-from-outside": _(
        "The gate reads none of them. What your site gets cannot be seen from outside: check it there, "
        "with a request that has Remote-User: somebody."
    ),
    "is-hidden": _("%(path)s: %(status)s."),
    "log-late": _("The gate answered (%(decision)s), but the record is not in the log: does the agent run?"),
    "may-be-kept": _("A refusal says that it may be cached: Cache-Control: %(cache_control)s."),
    "method-forged": _("%(header)s from a visitor is trusted: the gate saw %(method)s instead of GET."),
    "method-forged-refused": _("A forged method was refused."),
    "method-not-told": _("The proxy sends no method: to the gate every request is a GET."),
    "method-other": _("%(asked)s was sent, the gate saw %(method)s."),
    "method-right": _("%(method)s arrives unchanged."),
    "method-unforged": _("Forged headers were ignored: %(headers)s."),
    "no-answer": _("%(path)s: no answer (%(status)s)."),
    "no-record": _("There is no record of it; the answer was: %(answer)s."),
    "not-asked-to-sign-in": _("The doctor is not asked to sign in here (%(reason)s)."),
    "not-hidden": _("%(path)s can be reached from outside: %(status)s."),
    "not-reached": _("There was no answer: %(failure)s."),
    "not-sent-to-a-site-that-lets-in": _(
        "%(method)s was not sent: the site lets the doctor in, and might do something."
    ),
    "nothing-arrived": _("Not examined: the proxy must first be seen to ask the gate."),
    "page-not-redirected": _("A browser that must sign in got %(status)s instead of a redirect to the guard page."),
    "page-redirected-elsewhere": _("A browser that must sign in was sent elsewhere: %(location)s."),
    "page-to-guard": _("A browser is sent to the guard page: %(location)s."),
    "path-of-the-site": _("%(path)s is a path of the site here, behind the gate (%(status)s)."),
    "peer-believed": _("The gate reads the headers of this proxy."),
    "peer-not-believed": _("Forwarding headers from the peer %(peer)s are ignored: it is not a trusted proxy."),
    "perhaps-not-hidden": _(
        "%(path)s answered %(status)s: from outside the gate itself cannot be told from the site behind it. "
        "Hide it where this host serves Gatewall's own pages."
    ),
    "program-401": _("A program gets 401 with WWW-Authenticate."),
    "program-other": _("A program that must sign in got %(status)s instead of 401."),
    "program-sent-on": _("A program is sent to the guard page (%(status)s); ingress-nginx makes no difference."),
    "proxy-failed": _("The proxy answered %(status)s, as it does when gate or site are down. Nothing was let in."),
    "query-added": _("The gate got a query that was not sent: %(arrived)s."),
    "query-lost": _("The query did not arrive as it was sent: %(sent)s became %(arrived)s."),
    "redirected": _("The answer was %(status)s to %(location)s. Enter the final address of your site."),
    "refusal-403": _("Refused with 403 and the number %(decision)s (%(reason)s)."),
    "refusal-other": _("The gate answered 403, but the visitor got %(status)s."),
    "refusal-other-number": _("The visitor got the decision id %(told)s instead of %(decision)s."),
    "refusal-without-number": _("The visitor got 403 without X-Gatewall-Decision-Id (%(decision)s)."),
    "refused-by-proxy": _("The proxy itself refused it with %(status)s, and did not pass it on."),
    "remembered": _("A repeated request was answered %(status)s without asking the gate."),
    "scheme-forged": _("%(header)s from a visitor is trusted: the gate saw %(scheme)s."),
    "scheme-other": _("The proxy sent the scheme %(scheme)s, but the request used %(asked)s."),
    "untrusted-seen": _(
        "In the last 10 minutes, peers that are not trusted proxies sent forwarding headers: %(peers)s. If one of"
        " them is your proxy, all its visitors look like the proxy itself."
    ),
    "socket-asked": _("The gate was asked about a WebSocket handshake; the answer was %(status)s."),
    "uri-forged": _("%(header)s from a visitor is trusted: the gate saw %(arrived)s."),
    "uri-forged-refused": _("A forged path was refused."),
    "uri-not-told": _("The proxy sends no path: the WAF sees none."),
    "uri-other": _("%(sent)s became %(arrived)s."),
    "uri-raw": _("%(sent)s arrives unchanged."),
    "uri-resolved": _("%(sent)s became %(arrived)s. That is right only if your site gets the same path."),
    "uri-resolved-for-both": _("%(sent)s became %(arrived)s; Traefik gives gate and site the same path."),
    "uri-same": _("%(sent)s arrives as %(arrived)s, another spelling of the same path."),
    "uri-unforged": _("Forged headers were ignored: %(headers)s."),
    "walked-around": _("The answer was %(status)s, but the proxy did not ask the gate: requests bypass it."),
    "walked-around-by": _(
        "%(sent)s got the answer %(status)s, but the proxy did not ask the gate: such requests bypass it."
    ),
}


def meaning(finding: Finding) -> str:
    """Return the text of a finding. It may contain untrusted text: escape it."""
    values = {name: translated(each) if isinstance(each, Message) else each for name, each in finding.values.items()}
    return str(_MEANINGS[finding.code]) % values
