"""Link from filters of the log to the form of an access rule with the same conditions."""

from urllib.parse import urlencode

from django.urls import reverse

from gatewall.console.log.log_query import MOMENTS, LogQuery
from policies.models import AuthorizedDomain

_CONDITIONS = {"client_ip": "networks", "country_code": "countries", "method": "methods", "path": "path"}
_LEFT_OUT = frozenset({*MOMENTS, "outcome", "reason", "status"})
"""Filters by time and answer, which no condition of a rule can express."""


def rule_link(log_query: LogQuery) -> str:
    """Return the URL of a new access rule with these conditions; empty if no rule can have exactly these."""
    pairs = [
        condition for name, value in log_query.chosen if name not in _LEFT_OUT for condition in _condition(name, value)
    ]
    if not pairs or not all(value for _name, value in pairs):
        return ""
    return f"{reverse('admin:policies_accessrule_add')}?{urlencode(pairs)}"


def _condition(name: str, value: str) -> list[tuple[str, str]]:
    """Return the condition of a filter; without a value if a rule has no such condition."""
    if name == "host":
        domain = AuthorizedDomain.objects.filter(name=value).first()
        return [("domains", str(domain.pk) if domain else "")]
    if name == "path" and value.endswith("/*"):
        value = value.removesuffix("/*")
    return [(_CONDITIONS.get(name, name), value if name in _CONDITIONS and "*" not in value else "")]
