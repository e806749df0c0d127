"""URLs of operator pages: the log with filters, decisions, events and lists of the admin site."""

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from audit.figures.statistics import Window
from policies.models import AUTO_BAN


def log(window: Window | None = None, **filters: object) -> str:
    """Return the URL of the log explorer with these filters, optionally within a window."""
    moments = {"start_time": moment(window.start), "end_time": moment(window.end)} if window else {}
    return _with_query("console:log", {**moments, **filters})


def moment(at: datetime) -> str:
    """Return a moment in the format of the API's filters, in UTC."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def events(window: Window, kinds: Iterable[str]) -> str:
    """Return the URL of the security events of these kinds in a window."""
    chosen = {"kind__in": ",".join(kinds), "at__gte": moment(window.start), "at__lt": moment(window.end)}
    return _with_query("admin:audit_securityevent_changelist", chosen)


def bans(at: datetime) -> str:
    """Return the URL of the automatic bans in force."""
    chosen = {"source": AUTO_BAN, "expires_at__gt": moment(at)}
    return _with_query("admin:policies_blocklistentry_changelist", chosen)


def ban(network: str, **more: str) -> str:
    """Return the URL of the form that bans a network."""
    return _with_query("console:ban", {"network": network, **more})


def allow(network: str, **more: str) -> str:
    """Return the URL of the form that allows a network."""
    return _with_query("console:allow", {"network": network, **more})


def explain(decision_id: uuid.UUID | str) -> str:
    """Return the URL of the receipt of a decision."""
    return reverse("console:explain-receipt", kwargs={"decision_id": decision_id})


def blast_radius(network: str) -> str:
    """Return the URL of the blast radius of a network."""
    return _with_query("console:blast-radius", {"network": network})


def _with_query(name: str, parameters: Mapping[str, object]) -> str:
    return f"{reverse(name)}?{urlencode(parameters)}" if parameters else reverse(name)
