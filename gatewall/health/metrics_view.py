"""API view of the Prometheus metrics, for trusted networks and callers with the metrics token."""

from contextlib import suppress

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import Error
from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from gatewall.api.operations import operation
from gatewall.api.views import ApiView
from gatewall.health import metrics
from gatewall.health.health import JsonToAll, is_trusted
from gatewall.publication.control_plane import sources_of
from gatewall.snapshot.host_paths import node_name

_SCHEME = "Bearer"


class _TrustedNetworkOrToken(BaseAuthentication):
    """Authenticate by a network in ``GATEWALL_TRUSTED_PROXIES`` or by ``GATEWALL_METRICS_TOKEN``."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, None]:
        """Return an anonymous user. Raises NotAuthenticated, AuthenticationFailed."""
        if is_trusted(request.META):
            return AnonymousUser(), None
        scheme = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")[0]
        if scheme.lower() != _SCHEME.lower():
            raise NotAuthenticated("metrics are for trusted networks, or with the token as Authorization: Bearer")
        raise AuthenticationFailed("this is not the token")

    def authenticate_header(self, request: Request) -> str:
        return f'{_SCHEME} realm="Gatewall metrics"'


class Metrics(ApiView):
    """Counters and states in Prometheus' text format."""

    authentication_classes = [_TrustedNetworkOrToken]
    permission_classes = [AllowAny]
    renderer_classes = [JSONRenderer]  # for problems
    content_negotiation_class = JsonToAll

    def _count(self, request: Request, user_id: int | None, reach: str = "") -> None:
        with suppress(Error):  # the limit is in the database; during an outage few callers are affected
            super()._count(request, user_id, reach)

    @operation(answer={"type": "string"}, media_type="text/plain", refuses=(401,))
    def get(self, request: Request) -> HttpResponse:
        try:
            text = metrics.exposition(timezone.now())
        except Error:
            policies, _ = sources_of(settings.CONFIG)
            policies.current()  # include confirmations by other processes
            text = metrics.without_database(node_name(), policies.age.seconds())
        return HttpResponse(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)
