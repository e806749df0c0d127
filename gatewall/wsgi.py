"""The control plane: Django, with the gate in front of it."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gatewall.settings")
django_application = get_wsgi_application()

from gatewall.engine.snapshot import PolicySnapshot  # noqa: E402 - Django first
from gatewall.env import Config  # noqa: E402
from gatewall.forwardauth.build import build_gate  # noqa: E402
from gatewall.forwardauth.countries import Countries  # noqa: E402
from gatewall.forwardauth.gate import Gate  # noqa: E402
from gatewall.forwardauth.wsgi import AuthShim  # noqa: E402
from gatewall.portal import first_run  # noqa: E402
from gatewall.snapshot.holder import PolicyHolder  # noqa: E402
from gatewall.snapshot.places import policy_files  # noqa: E402
from gatewall.snapshot.published import PublishedPolicies  # noqa: E402
from gatewall.snapshot.store import DatabasePolicyStore  # noqa: E402


def build_control_plane_gate(config: Config) -> Gate:
    """Return the gate of this process: the rows decide and, while they never could be read, the files."""
    files = policy_files(config)
    published = PublishedPolicies(files)
    countries = Countries(config.geoip_database)

    def last_published() -> PolicySnapshot | None:
        published.refresh()
        return published.current()

    policies = PolicyHolder(DatabasePolicyStore(files), fallback=last_published, on_reload=countries.reload)
    return build_gate(config, policies, countries)


application = AuthShim(
    django_application, build_control_plane_gate(settings.CONFIG), settings.ROOT_PATH, close_old_connections
)
first_run.announce()
