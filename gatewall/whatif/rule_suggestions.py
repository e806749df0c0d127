"""Suggested access rules for the requests of a domain in the access log."""

from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ValidationError

from audit.log import at_domain
from audit.models import AccessLog
from audit.spool.records import PATH
from gatewall.engine.access_rules.rules import PathMatch
from gatewall.engine.hosts import DomainTable, Host
from gatewall.engine.model import Reason
from gatewall.replay.rule_suggestions import RefusedRequest, Suggestion, suggestions
from policies import policy_source
from policies.access_conditions import canonical_path, validate_path

MAX_ROWS = 50_000
"""Maximum number of requests that suggestions are based on: the newest ones."""
_LACKS_CREDENTIAL = (Reason.CREDENTIAL_MISSING.value, Reason.CREDENTIAL_INVALID.value)


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Suggestions for a domain; ``read`` requests were refused for lack of a credential.

    ``is_complete`` is False if there were more than ``MAX_ROWS``, or too many requests for other hosts among them.
    """

    domain: str
    start: datetime
    end: datetime
    read: int
    is_complete: bool
    found: list[Suggestion]


def suggestions_for(domain: str, start: datetime, end: datetime, *, most: int | None = None) -> Suggestions:
    """Return the suggested rules for a registered domain from its requests from ``start`` (inclusive) to ``end``.

    They are based on at most ``most`` requests, ``MAX_ROWS`` by default.
    """
    most = MAX_ROWS if most is None else most
    rows = AccessLog.objects.filter(at__gte=start, at__lt=end, reason__in=_LACKS_CREDENTIAL)
    columns = ("at", "decision_id", "client_ip", "method", "path", "user_agent", "host")
    newest, since = at_domain.newest_values(domain, rows, columns, most)
    domains = DomainTable(policy_source.domains())
    requests = []
    for at, decision_id, client, method, path, user_agent, host in newest:
        registered = domains.match(Host(host))
        if registered is not None and registered.name == domain:
            shown = _as_rule_path(path)
            requests.append(RefusedRequest(str(decision_id), at.timestamp(), client, method, path, shown, user_agent))
    return Suggestions(domain, start, end, len(requests), since is None, suggestions(requests))


def _as_rule_path(path: str) -> str | None:
    """Return the path as a rule writes it, None if no rule can: it is masked, cut, or has no canonical form."""
    canonical = canonical_path(path)
    if len(path) >= PATH.length:
        return None
    try:
        validate_path(PathMatch.EXACT, canonical)
    except ValidationError:
        return None
    return canonical
