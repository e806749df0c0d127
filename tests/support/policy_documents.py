"""Made-up policy documents: valid values of every section, in canonical and other spellings."""

from typing import Any

from hypothesis import strategies as st

from gatewall.engine.hosts import Access
from gatewall.engine.model import Action, Effect, Reason
from gatewall.engine.waf.builtin import BUILTIN_RULES
from gatewall.engine.waf.rules import Category, Operator, Severity, Target, Transform
from policies.access_conditions import WEEKDAYS

USERS = ("Bob", "zoe")
NAMES = ("a.example", "*.example", "b.example", "büro.example")
GROUP_NAMES = ("staff", "guests", "1", "no")
NETWORKS = ("203.0.113.9", "203.0.113.0/24", "198.51.100.77", "2001:db8::/32", "10.0.0.0/8")
_PRINTED = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])
TEXT = st.text(_PRINTED | st.sampled_from("\n\t\"'\\:#"), max_size=20).map(str.strip)
NAME = st.sampled_from(["rule", "no", "Über", "a: b", "it's", "# x", "\\d"]) | TEXT.filter(bool)
MOMENT = st.none() | st.sampled_from(["2099-01-01T00:00:00Z", "2098-12-31T23:59:59.123456+02:00"])


def row(**fields: st.SearchStrategy[Any] | None) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy of rows; a field whose name ends with an underscore is required."""
    required = {name.rstrip("_"): each for name, each in fields.items() if name.endswith("_") and each is not None}
    optional = {name: each for name, each in fields.items() if not name.endswith("_") and each is not None}
    return st.fixed_dictionaries(required, optional=optional)


def rows(strategy: st.SearchStrategy[dict[str, Any]], *key: str, most: int = 4) -> st.SearchStrategy[list[Any]]:
    """Return a strategy of sections whose rows have different keys."""
    return st.lists(strategy, max_size=most, unique_by=lambda each: tuple(each.get(name) for name in key))


def some(values: Any) -> st.SearchStrategy[list[Any]]:
    """Return a strategy of lists of different values."""
    return st.lists(st.sampled_from(list(values)), max_size=3, unique=True)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Return the values of a document with all sections."""
    domains = draw(rows(row(name_=st.sampled_from(NAMES), access=st.sampled_from([*Access]), remark=TEXT), "name"))
    known = [each["name"] for each in domains]
    domain = st.none() | st.sampled_from(known) if known else st.none()
    group = row(
        name_=st.sampled_from(GROUP_NAMES), description=TEXT, all_domains=st.booleans(), authorized_domains=_of(known)
    )
    groups = draw(rows(group, "name"))
    return {
        "version": 1,
        "settings": draw(row(contact=TEXT, waf_threshold=st.integers(1, 100), recovery_local_only=st.booleans())),
        "domains": domains,
        "groups": groups,
        "access_rules": draw(rows(_access_rule(known, [each["name"] for each in groups]), "name")),
        "blocklist": draw(rows(row(ip_=st.sampled_from(NETWORKS), remark=TEXT, expires_at=MOMENT), "ip")),
        "allowlist": draw(_allowlist(domain)),
        "countries": draw(rows(row(country_code_=st.sampled_from(["NO", "NZ", "DE"]), remark=TEXT), "country_code")),
        "waf_rules": draw(_waf_rules(domain)),
        "builtin_waf_rules": draw(_builtin_rules(domain)),
        "list_subscriptions": draw(_subscriptions()),
        "expect": draw(_expectations()),
    }


def _of(names: list[str]) -> st.SearchStrategy[list[str]]:
    return some(names) if names else st.just([])


def _access_rule(domains: list[str], groups: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    path = row(match_=st.sampled_from(["exact", "prefix"]), value_=st.sampled_from(["/a", "/b/c", "/"]))
    window = {"from": st.just("22:00"), "until": st.just("06:00"), "users": some(USERS)}
    rule = row(
        name_=NAME,
        access_=st.sampled_from(["authenticated", "two_factor", "phishing_resistant", "denied"]),
        enabled=st.booleans(),
        domains=_of(domains),
        groups=_of(groups),
        paths=st.lists(path, max_size=2, unique_by=str),
        methods=some(["GET", "post"]),
        networks=some(NETWORKS),
        countries=some(["NO", "de"]),
        asns=some([1, 4294967295]),
        weekdays=some(WEEKDAYS),
        time_zone=st.sampled_from(["UTC", "Europe/Berlin"]),
        credential_kinds=some(["session", "license"]),
        rate_per_minute=st.integers(0, 1000),
        expires_at=MOMENT,
        remark=TEXT,
    )
    return st.builds(lambda one, more: one | more, rule, st.fixed_dictionaries({}, optional=window))


def _allowlist(domain: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[Any]]:
    entry = row(ip_=st.sampled_from(NETWORKS), domain=domain, inspect=st.booleans(), remark=TEXT, expires_at=MOMENT)
    return rows(entry, "ip", "domain")


def _waf_fields(domain: st.SearchStrategy[str | None]) -> dict[str, st.SearchStrategy[Any]]:
    exclusion = row(argument_=st.sampled_from(["q", "text"]), domain=st.none(), path_prefix=st.just("/x"))
    return {
        "targets": some(Target).filter(bool),
        "transforms": some(Transform),
        "category": st.sampled_from([*Category]),
        "severity": st.sampled_from([*Severity]),
        "score": st.integers(1, 10),
        "action": st.sampled_from([*Action]),
        "priority": st.integers(0, 1_000_000),
        "enabled": st.booleans(),
        "domain": domain,
        "path_prefix": st.none() | st.just("/api"),
        "exclusions": st.lists(exclusion, max_size=2),
        "description": TEXT,
    }


def _waf_rules(domain: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[Any]]:
    pattern = st.sampled_from(["(?i)\\bxyzzy\\b", "a'b\"c\\\\", " frobnicate "])
    operator = st.sampled_from([Operator.CONTAINS, Operator.REGEX])
    return rows(row(name_=NAME, pattern_=pattern, operator=operator, **_waf_fields(domain)), "name")


def _builtin_rules(domain: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[Any]]:
    keys = st.sampled_from([rule.key for rule in BUILTIN_RULES[:3]])
    renamed = st.sampled_from([f"renamed {number}" for number in range(3)])
    found = rows(row(key_=keys, name=renamed, **_waf_fields(domain)), "key")
    return found.filter(lambda each: _are_different([one["name"] for one in each if "name" in one]))


def _are_different(names: list[str]) -> bool:
    return len(set(names)) == len(names)


def _subscriptions() -> st.SearchStrategy[list[Any]]:
    minutes = st.integers(15, 43_200)
    url = st.sampled_from(["https://lists.example/drop.txt", "https://lists.example/other"])
    name = st.sampled_from(["drop", "feed"])
    return rows(row(name_=name, url_=url, interval_minutes=minutes, enabled=st.booleans(), remark=TEXT), "name")


def _expectations() -> st.SearchStrategy[list[Any]]:
    request = row(
        client_=st.sampled_from(["203.0.113.1", "2001:DB8::1"]),
        host_=st.sampled_from(["a.example", "A.example:8443"]),
        method=st.sampled_from(["get", "POST"]),
        uri=st.sampled_from(["/", "/a?b=%20c"]),
        scheme=st.sampled_from(["http", "https"]),
        headers=st.just({"User-Agent": "x: y", "accept": ""}),
    )
    who = st.sampled_from([None, {"user": "bob"}, {"user": "x", "amr": ["otp", "pwd"]}, {"license": "ci"}])
    asked = st.builds(lambda one, subject: one | {"as": subject}, request, who)
    return rows(
        row(name_=NAME, request_=asked, effect_=st.sampled_from([*Effect]), reason=st.sampled_from([*Reason])), "name"
    )
