"""The control plane: Django, with the gate in front of it."""

import os
import time

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gatewall.settings")
django_application = get_wsgi_application()

from gatewall.credentials.check import PolicyCredentials, VerifiedTokens  # noqa: E402 - Django first
from gatewall.credentials.sessions import SessionVerifier  # noqa: E402
from gatewall.engine.ports import Ports  # noqa: E402
from gatewall.forwardauth import subrequest  # noqa: E402
from gatewall.forwardauth.countries import MmdbCountries, NoCountries  # noqa: E402
from gatewall.forwardauth.gate import Gate  # noqa: E402
from gatewall.forwardauth.request_rate import SharedRequestRate  # noqa: E402
from gatewall.forwardauth.responses import GuardPage  # noqa: E402
from gatewall.forwardauth.wsgi import AuthShim  # noqa: E402
from gatewall.snapshot.holder import PolicyHolder  # noqa: E402
from gatewall.snapshot.store import DatabasePolicyStore  # noqa: E402

_GATE_AUDIENCE = "gate"


def build_gate() -> Gate:
    """Return the gate of this process."""
    database = settings.GATEWALL_GEOIP_DATABASE
    verifier = SessionVerifier(
        settings.GATEWALL_JWT_KEYS, issuer=settings.GATEWALL_TOKEN_ISSUER, audience=_GATE_AUDIENCE
    )
    ports = Ports(
        countries=MmdbCountries(database) if database else NoCountries(),
        credentials=PolicyCredentials(VerifiedTokens(verifier)),
        rates=SharedRequestRate(settings.GATEWALL_HOME / "request-rate"),
    )
    return Gate(
        PolicyHolder(DatabasePolicyStore()),
        ports,
        trusted=settings.GATEWALL_TRUSTED_PROXIES,
        guard=GuardPage(settings.ROOT_PATH, settings.GATEWALL_PUBLIC_URL),
        clock=time.time,
    )


application = AuthShim(
    django_application,
    build_gate(),
    {f"{settings.ROOT_PATH}/auth": subrequest.auth},
    close_old_connections,
)
