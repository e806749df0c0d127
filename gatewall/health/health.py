"""Health checks (live, ready): a status for everyone, details for trusted callers and admins."""

import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db import Error
from rest_framework.exceptions import APIException
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall import __version__
from gatewall.api.operations import operation
from gatewall.api.permissions import IsAdmin
from gatewall.api.scopes import SYSTEM
from gatewall.api.views import ApiView
from gatewall.gate.waf_state import waf_checks
from gatewall.kernel.refusals import Refusal
from gatewall.kernel.trusted_callers import TrustedCallers
from gatewall.models import Node
from gatewall.policy import revisions
from gatewall.publication import nodes
from gatewall.publication.control_plane import sources_of
from gatewall.snapshot.confirmed import ALARM_SECONDS
from gatewall.snapshot.host_paths import policy_files
from gatewall.snapshot.manifest import ManifestRefused
from policies import geo

_NEEDED = ("database", "policy", "spool")


def checks() -> dict[str, str]:
    """Return the result of each check: ``ok`` or the problem."""
    policies, _ = sources_of(settings.CONFIG)
    found = {"database": _database(), "policy": _policy(), "spool": _spool(), "geo": geo_state()}
    return found | {"hosts": _hosts()} | waf_checks(policies.current())


def _database() -> str:
    try:
        revisions.current()
    except Error:
        return "cannot be read"
    return "ok"


def _policy() -> str:
    """Check that the published policy is current; a missing one is fine, because this plane reads the rows."""
    try:
        policy_files(settings.CONFIG).manifest()
    except ManifestRefused as error:
        return f"the published policy cannot be used: {error}"
    except OSError as error:  # without its path, which is not public
        return f"the published policy cannot be used: {error.strerror}"
    return "ok"


def _hosts() -> str:
    """Check that the policy of every host was recently confirmed and is in force; ``/metrics`` names the hosts."""
    try:
        now, hosts = nodes.database_now(), list(Node.objects.all())
        late = sum(nodes.unconfirmed_seconds(host, now) > ALARM_SECONDS for host in hosts)
    except Error:
        return "not known without the database"
    if late:
        return f"policy not confirmed on {late} of {len(hosts)}"
    troubled = sum(bool(host.problem or any(each.get("rejected") for each in host.workers)) for host in hosts)
    return f"problem reported by {troubled} of {len(hosts)}" if troubled else "ok"


def _spool() -> str:
    """Check that the spool's disk is writable and has room."""
    folder = settings.CONFIG.home / "spool"
    try:
        with tempfile.TemporaryFile(dir=folder if folder.exists() else settings.CONFIG.home, buffering=0) as probe:
            probe.write(bytes(4096))
    except OSError:
        return "cannot be written"
    return "ok"


def geo_state() -> str:
    """Return ``ok``, or why countries are unknown."""
    path = geo.in_use()
    if path is None:
        return "no geo database: no country is known"
    return "ok" if geo.describe(path) else "cannot be read"


class JsonToAll(DefaultContentNegotiation):
    """Respond with JSON even if a load balancer asks for ``text/html``."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type


_TEXT = {"type": "string"}
_HEALTH = {
    "type": "object",
    "properties": {
        "status": {"enum": ["ok", "unavailable"]},
        "version": _TEXT,
        "checks": {"type": "object", "additionalProperties": _TEXT},
    },
    "required": ["status"],
}


def is_trusted(environ: Mapping[str, Any]) -> bool:
    """Return whether the client is in a trusted network or sends the metrics token."""
    callers = TrustedCallers(settings.GATEWALL_TRUSTED_PROXIES, settings.GATEWALL_METRICS_TOKEN)
    forwarded_for = environ.get("HTTP_X_FORWARDED_FOR")
    return callers.includes(environ.get("REMOTE_ADDR", ""), forwarded_for, environ.get("HTTP_AUTHORIZATION", ""))


class _PublicStatus(ApiView):
    """Public status without a rate limit; details only for trusted callers and admins."""

    is_rate_limited = False
    area = SYSTEM
    permission_classes = [AllowAny]
    renderer_classes = [JSONRenderer]
    content_negotiation_class = JsonToAll

    def perform_authentication(self, request: Request) -> None:
        """Do nothing: an invalid credential or an unavailable database must not change the status."""

    def _answer(self, request: Request, found: dict[str, str], *, ready: bool) -> Response:
        body: dict[str, Any] = {"status": "ok" if ready else "unavailable"}
        if is_trusted(request.META) or self._may_read(request):
            body |= {"version": __version__, "checks": found}
        return Response(body, status=200 if ready else 503)

    def _may_read(self, request: Request) -> bool:
        try:
            return IsAdmin().has_permission(request, self)
        except (APIException, Refusal, Error):
            return False


class Live(_PublicStatus):
    """Liveness: the process responds."""

    @operation(answer=_HEALTH)
    def get(self, request: Request) -> Response:
        return self._answer(request, {}, ready=True)


class Ready(_PublicStatus):
    """Readiness: 503 when database, published policy or spool cannot be used."""

    @operation(answer=_HEALTH, also={503: _HEALTH})
    def get(self, request: Request) -> Response:
        found = checks()
        return self._answer(request, found, ready=all(found[name] == "ok" for name in _NEEDED))
