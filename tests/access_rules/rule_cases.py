"""Cases written by hand, from one sentence each: which rule counts, and what its conditions on the request mean."""

from tests.access_rules.examples import (
    ANN,
    BOB,
    DENIED,
    NO_HOST,
    NOBODY,
    PASSES,
    PUBLIC,
    ROOT,
    SCOPE,
    SECOND,
    SUNDAY_NOON,
    Case,
    a_request,
    a_rule,
    denied,
    forged,
    on,
    public,
    session,
    site,
)

NO_RULE: list[Case] = [
    Case("no rule: the domain's own access", site(), a_request("/", BOB), PASSES),
    Case("no rule, nobody", site(), a_request("/"), NOBODY),
    Case("no rule, a public domain", site(), on("open.example"), "200 host-public"),
    Case(
        "a public domain ignores an invalid credential", site(), on("open.example", "/", forged(BOB)), "200 host-public"
    ),
    Case("a host of no domain is authenticated", site(), on("other.test", "/", ANN), PASSES),
    Case("a host of no domain needs all domains", site(), on("other.test", "/", BOB), SCOPE),
    Case("a host of no domain, all domains by a group", site(), on("other.test", "/", session("dan")), PASSES),
    Case("a host of no domain, mode registered", site(PUBLIC, mode="registered"), on("other.test", "/", ANN), NO_HOST),
    Case("the step before all rules: the domain is denied", site(PUBLIC), on("gone.example", "/", ROOT), NO_HOST),
    Case("exact wins over a wildcard", site(), on("one.wild.example"), NOBODY),
    Case("the longest wildcard wins", site(), on("x.deep.wild.example"), "200 host-public"),
    Case("a wildcard does not cover its own name", site(PUBLIC, mode="registered"), on("wild.example"), NO_HOST),
    Case(
        "hosts are compared in lower case, without the port", site(), on("OPEN.example", port=8443), "200 host-public"
    ),
]
ORDER: list[Case] = [
    Case("the first rule counts", site(PUBLIC, DENIED), a_request("/"), "200 path-public r1"),
    Case("the first rule counts, the other way round", site(DENIED, PUBLIC), a_request("/"), "403 access-denied r1"),
    Case("only enabled rules", site(denied(enabled=False), PUBLIC), a_request("/"), "200 path-public r2"),
    Case("only live rules", site(denied(expires_at=SUNDAY_NOON), PUBLIC), a_request("/"), "200 path-public r2"),
    Case(
        "a rule before it expires",
        site(denied(expires_at="2026-06-07T12:00:01Z")),
        a_request("/"),
        "403 access-denied r1",
    ),
    Case("none holds: the domain's access", site(denied(methods=["PUT"])), on("open.example"), "200 host-public"),
    Case(
        "a rule relaxes the domain's access", site(a_rule("authenticated")), on("two.example", "/", BOB), PASSES + " r1"
    ),
    Case("a rule closes a public domain", site(a_rule("authenticated")), on("open.example"), NOBODY + " r1"),
    Case("no domain condition: every host", site(PUBLIC), on("other.test"), "200 path-public r1"),
    Case("public by a rule does not register the host", site(PUBLIC, mode="registered"), on("other.test"), NO_HOST),
]
OPTIONS, OPTIONS_AND_GET = public(methods=["OPTIONS"]), public(methods=["OPTIONS", "GET"])
CONDITIONS: list[Case] = [
    Case("domains", site(public(domains=["two.example"])), on("two.example"), "200 path-public r1"),
    Case("another domain", site(public(domains=["two.example"])), a_request("/"), NOBODY),
    Case(
        "a wildcard is that domain",
        site(public(domains=["*.wild.example"])),
        on("x.wild.example"),
        "200 path-public r1",
    ),
    Case("and not one below it", site(public(domains=["*.wild.example"])), on("one.wild.example"), NOBODY),
    Case("no domain is none of these", site(public(domains=["app.example"])), on("other.test"), NOBODY),
    Case("methods", site(public(methods=["GET", "HEAD"])), a_request("/", method="HEAD"), "200 path-public r1"),
    Case("another method", site(public(methods=["GET"])), a_request("/", method="HEAD"), NOBODY),
    Case("a preflight", site(OPTIONS), a_request("/", method="OPTIONS", preflight=True), "200 path-public r1"),
    Case("no preflight", site(OPTIONS), a_request("/", method="OPTIONS"), NOBODY),
    Case("a preflight and more", site(OPTIONS_AND_GET), a_request("/", method="OPTIONS"), "200 path-public r1"),
    Case("a preflight is not all", site(OPTIONS), a_request("/", preflight=True), NOBODY),
    Case("networks", site(public(networks=["192.0.2.0/24"])), a_request("/"), "200 path-public r1"),
    Case("another network", site(public(networks=["192.0.2.8/29", "2001:db8::/32"])), a_request("/"), NOBODY),
    Case(
        "a network of IPv6",
        site(public(networks=["2001:db8::/32"])),
        a_request("/", client="2001:db8::1"),
        "200 path-public r1",
    ),
    Case("countries", site(public(countries=["DE"])), a_request("/"), "200 path-public r1"),
    Case("another country", site(public(countries=["US"])), a_request("/"), NOBODY),
    Case(
        "an unknown country is none",
        site(denied(countries=["US"]), PUBLIC),
        a_request("/", country=None),
        "200 path-public r2",
    ),
    Case("networks of providers", site(public(asns=[64496])), a_request("/"), "200 path-public r1"),
    Case("an unknown provider is none", site(public(asns=[64496])), a_request("/", asn=None), NOBODY),
    Case("all conditions", site(public(countries=["DE"], methods=["GET"], asns=[1])), a_request("/"), NOBODY),
]
PATHS: list[Case] = [
    Case("exact", site(a_rule("public", "/a")), a_request("/a?b"), "200 path-public r1"),
    Case("exact is not below", site(a_rule("public", "/a")), a_request("/a/b"), NOBODY),
    Case("case counts", site(a_rule("public", "/a")), a_request("/A"), NOBODY),
    Case("prefix", site(a_rule("public", "/a/...")), a_request("/a/b/c"), "200 path-public r1"),
    Case("a prefix ends at a slash", site(a_rule("public", "/a/...")), a_request("/ab"), NOBODY),
    Case("one of several paths", site(a_rule("public", "/a", "/b")), a_request("/b"), "200 path-public r1"),
    Case("* is a segment", site(a_rule("public", "/a/*/c")), a_request("/a/b/c"), "200 path-public r1"),
    Case("* is one segment", site(a_rule("public", "/a/*")), a_request("/a/b/c"), NOBODY),
    Case("** is several segments", site(a_rule("public", "/a/**/d")), a_request("/a/b/c/d"), "200 path-public r1"),
    Case("** is no segment", site(a_rule("public", "/a/**/d")), a_request("/a/d"), "200 path-public r1"),
    Case("* is no less than a segment", site(a_rule("public", "/a/*")), a_request("/a"), NOBODY),
    Case("* is not empty", site(a_rule("denied", "/a/*/c"), PUBLIC), a_request("/a//c"), "200 path-public r2"),
    Case("** is the rest", site(a_rule("public", "/a/**")), a_request("/a/b/c/"), "200 path-public r1"),
    Case("** is no rest", site(a_rule("public", "/a/**")), a_request("/a"), "200 path-public r1"),
    Case("** is not part of a segment", site(a_rule("public", "/a/**")), a_request("/ab"), NOBODY),
    Case("** stands twice", site(a_rule("public", "/**/b/**/d")), a_request("/a/b/c/d"), "200 path-public r1"),
    Case("a slash at the end of the path", site(a_rule("public", "/a")), a_request("/a/"), "200 path-public r1"),
    Case("a slash at the end of the rule", site(a_rule("public", "/a/")), a_request("/a"), "200 path-public r1"),
    Case("a prefix with a slash at the end", site(a_rule("public", "/a//...")), a_request("/a"), "200 path-public r1"),
    Case("the prefix of all", site(a_rule("public", "/...")), a_request("/a"), "200 path-public r1"),
    Case("the root", site(a_rule("public", "/")), a_request("/"), "200 path-public r1"),
    Case("not the root", site(a_rule("public", "/")), a_request("/a"), NOBODY),
    Case("UTF-8", site(a_rule("denied", "/café"), PUBLIC), a_request("/caf%C3%A9"), "403 access-denied r1"),
]
OPEN_BUT_ADMIN = [a_rule("denied", "/admin/..."), PUBLIC]
CLOSED_BUT_APP = [a_rule("public", "/app/...")]
READINGS: list[Case] = [
    Case(f"{uri} with all its readings", site(*rules), a_request(uri), expected)
    for rules, expected, uris in (
        (
            OPEN_BUT_ADMIN,
            "403 access-denied r1",
            ("/admin", "/%61dmin", "/%2561dmin", "//admin", "/x/../admin", "/admin;a/b"),
        ),
        (
            OPEN_BUT_ADMIN,
            "403 access-denied r1",
            (
                "/x/%2e%2e/admin",
                "/x%2F..%2Fadmin",
                "/x/..;a/admin",
                "/.%252fadmin/",
                "/%u0061dmin",
                r"/x\y/../admin",
                "/x%2Fy/%2e%2e/admin",
                r"/x/..\admin",
            ),
        ),
        (
            OPEN_BUT_ADMIN,
            "403 access-denied r1",
            ("/x/%252e%252e/admin", "/x//..//../admin", "/a%3bx/../admin%3B", "/admin/.."),
        ),
        (OPEN_BUT_ADMIN, "200 path-public r2", ("/x", "/Admin", "/x?/../admin", "/xadmin", "/x/admin")),
        (CLOSED_BUT_APP, NOBODY, ("/app/../x", "/app/%2e%2e/x", "/app%2fx/..;/../x", "//app", "/app;x", "/%2561pp")),
        (CLOSED_BUT_APP, "200 path-public r1", ("/app", "/%61pp", "/app/a;b", "/app//x", "/app/%2e/x", "/app/x/..")),
    )
    for uri in uris
]
UNSEEN: list[Case] = [
    Case("not shown: a path that opens", site(a_rule("public", "/a")), a_request(None), NOBODY),
    Case("not shown: a path that opens, any", site(a_rule("public", "/**")), a_request(None), NOBODY),
    Case("not shown: a path that closes", site(a_rule("denied", "/a")), a_request(None, BOB), "403 access-denied r1"),
    Case("not shown: asks for more", site(a_rule("two_factor", "/a"), PUBLIC), a_request(None, BOB), SECOND + " r1"),
    Case(
        "not shown: behind the one that counts",
        site(PUBLIC, a_rule("denied", "/a")),
        a_request(None),
        "200 path-public r1",
    ),
    Case("not shown: asks for less", site(a_rule("authenticated", "/a")), on("two.example", None, BOB), SECOND),
    Case(
        "not shown: the strictest",
        site(a_rule("two_factor", "/a"), a_rule("denied", "/b")),
        a_request(None),
        "403 access-denied r2",
    ),
    Case(
        "not shown: another condition fails",
        site(a_rule("denied", "/a", methods=["PUT"])),
        a_request(None, BOB),
        PASSES,
    ),
    Case(
        "not shown: nobody and a path of a group",
        site(a_rule("denied", "/a", groups=["ops"]), PUBLIC),
        a_request(None),
        NOBODY + " r1",
    ),
    Case(
        "not shown: the rate of a rule that is not met",
        site(a_rule("authenticated", "/a", rate_per_minute=9)),
        a_request(None, BOB, over_rate="rule"),
        PASSES,
    ),
    Case("no method shown", site(public(methods=["GET"])), a_request("/", method=None), NOBODY),
    Case(
        "no method shown, stricter",
        site(denied(methods=["GET"])),
        a_request("/", BOB, method=None),
        "403 access-denied r1",
    ),
    Case("no client shown", site(public(networks=["192.0.2.0/24"])), a_request("/", client_shown=False), NOBODY),
]
NIGHT = {"weekdays": ["fri"], "begin": "22:00", "until": "06:00", "time_zone": "Europe/Berlin"}
GAP = {"begin": "02:30", "until": "04:00", "time_zone": "Europe/Berlin"}
TWICE = {"begin": "01:00", "until": "01:30", "time_zone": "America/New_York"}
TIMES: list[Case] = [
    Case(
        f"{window} at {at}",
        site(public(**window)),
        a_request("/", at=f"{at}Z"),
        "200 path-public r1" if holds else NOBODY,
    )
    for window, at, holds in (
        ({"weekdays": ["sun"]}, "2026-06-07T00:00:00", True),
        ({"weekdays": ["sun"]}, "2026-06-06T23:59:59", False),
        ({"weekdays": ["sun"], "time_zone": "Europe/Berlin"}, "2026-06-06T22:00:00", True),
        ({"weekdays": ["sun"], "time_zone": "America/New_York"}, "2026-06-08T03:59:59", True),
        ({"begin": "08:00", "until": "17:00"}, "2026-06-07T08:00:00", True),
        ({"begin": "08:00", "until": "17:00"}, "2026-06-07T07:59:59", False),
        ({"begin": "08:00", "until": "17:00"}, "2026-06-07T17:00:00", False),
        ({"begin": "08:00"}, "2026-06-07T23:59:59", True),
        ({"begin": "08:00"}, "2026-06-07T00:00:00", False),
        ({"until": "08:00"}, "2026-06-07T00:00:00", True),
        ({"begin": "08:00", "until": "08:00", "weekdays": ["sat"]}, "2026-06-07T07:59:59", True),
        ({"time_zone": "Europe/Berlin"}, "2026-06-07T00:00:00", True),
        (NIGHT, "2026-06-05T20:00:00", True),
        (NIGHT, "2026-06-05T19:59:59", False),
        (NIGHT, "2026-06-06T03:59:59", True),
        (NIGHT, "2026-06-06T04:00:00", False),
        (NIGHT, "2026-06-05T02:00:00", False),
        (NIGHT, "2026-06-06T20:00:00", False),
        (GAP, "2026-03-29T00:59:59", False),
        (GAP, "2026-03-29T01:00:00", True),
        (GAP, "2026-03-29T02:00:00", False),
        (GAP, "2026-03-28T01:30:00", True),
        (TWICE, "2026-11-01T05:00:00", True),
        (TWICE, "2026-11-01T05:30:00", False),
        (TWICE, "2026-11-01T06:00:00", True),
        (TWICE, "2026-11-01T06:30:00", False),
    )
]

RULE_CASES = [*NO_RULE, *ORDER, *CONDITIONS, *PATHS, *READINGS, *UNSEEN, *TIMES]
