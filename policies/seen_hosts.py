"""Recently requested hosts, compared with the registered domains."""

from datetime import datetime, timedelta

from audit.figures import statistics
from audit.figures.statistics import Window
from gatewall.engine.hosts import DomainTable, Host
from policies import policy_source

LATELY = timedelta(hours=1)
_NAMED = 20


def warning(at: datetime) -> str | None:
    """Return a warning that names the unregistered hosts of the last hour, None if there are none."""
    hosts = unregistered(at)
    if not hosts:
        return None
    others = f" and {len(hosts) - _NAMED} others" if len(hosts) > _NAMED else ""
    return f"hosts that were asked for in the last hour and are refused now: {', '.join(hosts[:_NAMED])}{others}"


def unregistered(at: datetime) -> list[str]:
    """Return the unregistered hosts of the last hour, the most frequent first.

    Rarely requested hosts may be missing if there are very many hosts.
    """
    domains = DomainTable(policy_source.domains())
    seen = statistics.summaries(Window.until(at, LATELY), ["host"])["host"]
    return [name for name, _number in seen.top() if domains.match(Host(name)) is None]
