"""WSGI application of the control plane: Django, with the gate in front of it."""

import os
from functools import partial

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gatewall.settings")
django_application = get_wsgi_application()
get_resolver().url_patterns  # noqa: B018 - imports all pages before the worker is ready, not at its first request

from gatewall.agent import in_control_plane  # noqa: E402 - Django first
from gatewall.gate.build import build_gate  # noqa: E402 - as above
from gatewall.gate.gate import Gate  # noqa: E402 - as above
from gatewall.gate.shadow_follower import ShadowFollower, reports_folder  # noqa: E402 - as above
from gatewall.gate.wsgi import AuthShim  # noqa: E402 - as above
from gatewall.health import uptime  # noqa: E402 - as above
from gatewall.kernel.env import Config  # noqa: E402 - Django first
from gatewall.portal import first_run  # noqa: E402 - as above
from gatewall.publication import standby  # noqa: E402 - as above
from gatewall.publication.control_plane import live_tables, sources_of  # noqa: E402 - as above
from gatewall.snapshot.host_paths import policy_files, run_folder  # noqa: E402 - as above


def build_control_plane_gate(config: Config) -> Gate:
    """Return the gate of this process: it decides by the rows or, while they cannot be read, by newer files."""
    return build_gate(config, *sources_of(config))


gate = build_control_plane_gate(settings.CONFIG)
agent = in_control_plane.AgentThread() if uptime.is_served() and in_control_plane.is_wanted() else None
application = AuthShim(django_application, gate, settings.ROOT_PATH, close_old_connections, agent)
first_run.announce()
if agent is not None:
    agent.start()
if uptime.is_served():
    every_seconds = standby.EVERY_SECONDS if agent is None else standby.BESIDE_ITS_AGENT_SECONDS
    standby.Standby(policy_files(settings.CONFIG), run_folder(settings.CONFIG.home), every_seconds).start()
    if gate.shadow is not None:
        ShadowFollower(
            policy_files(settings.CONFIG),
            partial(live_tables, settings.CONFIG),
            gate.shadow,
            reports_folder(run_folder(settings.CONFIG.home)),
        ).start()
