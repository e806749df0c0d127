"""``Destination`` of WebDAV's COPY and MOVE: a second path of the request (RFC 4918, section 10.3). No I/O."""

from gatewall.engine.access_rules.table import trimmed_readings
from gatewall.engine.hosts import Authority
from gatewall.engine.model import AccessRequest

_METHODS = frozenset({"COPY", "MOVE"})
_ENDS_A_PATH = frozenset("?#")


def path_readings_of(request: AccessRequest) -> tuple[str, ...] | None:
    """Return the paths that servers may resolve a request and its destination to; None if there are too many.

    None also for a destination that is missing, cannot be read, or is on another host.
    """
    readings = trimmed_readings(request.uri.partition("?")[0])
    writes = has_destination(request)
    if readings is None or not (writes or "method" not in request.visible):
        return readings
    destinations = [value for name, value in request.headers if name == "destination"]
    if writes and not destinations:
        return None
    for destination in destinations:
        path = _path_of(destination, request)
        found = None if path is None else trimmed_readings(path)
        if found is None:
            return None
        readings += found
    return tuple(dict.fromkeys(readings))


def has_destination(request: AccessRequest) -> bool:
    """Return whether a server writes to another path than that of the request."""
    return request.method in _METHODS


def _path_of(destination: str, request: AccessRequest) -> str | None:
    """Return the path of a destination on the host of the request, None if parsers may disagree about it."""
    if not _ENDS_A_PATH.isdisjoint(destination):
        return None
    if destination.startswith("/"):
        return None if destination.startswith("//") else destination
    authority = Authority.of_url(destination)
    if authority is None or authority.host != request.host:
        return None
    return "/" + destination.partition("://")[2].partition("/")[2]
