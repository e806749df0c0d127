"""Fixtures of each proxy, started once for all tests: before the real gate, and before a configurable stub of it."""

from typing import Any

import pytest

from gatewall.install.ports import free_port
from tests.proxies.conftest import LET_IN
from tests.proxies.every.asking import Front
from tests.proxies.every.kinds import KINDS, Behind
from tests.proxies.every.rule_table import COUNTRIES
from tests.support.mmdb import write_mmdb
from tests.support.processes import agent, api, control_plane, data_plane, prepare, request, sign_in, wait_until
from tests.support.upstream import Upstream

IDENTITY = {
    "Remote-User": "admin",
    "Remote-Email": "admin@office.example",
    "Remote-Groups": "admins",
    "X-Gatewall-Subject-Kind": "user",
    "X-Gatewall-Decision-Id": "the-id",
}


class Fronts:
    """Proxies of every kind before one gate, each started on first use."""

    def __init__(self, stack, folders, behind, site, gate=None, home=None):
        self.behind, self.site, self.gate, self.home = behind, site, gate, home
        self._stack, self._folders, self._started = stack, folders, {}

    def __getitem__(self, kind):
        if kind not in self._started:
            port = self._stack.enter_context(KINDS[kind].start(self._folders.mktemp(kind), self.behind))
            self._started[kind] = Front(kind, port, self.site, self.gate)
        return self._started[kind]


@pytest.fixture(scope="session")
def wall(tmp_path_factory, until_folder_ends):
    """Return proxies before the real gate, which refuses hosts it does not know."""
    home, control, auth = tmp_path_factory.mktemp("home"), free_port(), free_port()
    prepare(home)
    stack = until_folder_ends
    stack.enter_context(agent(home))
    countries = write_mmdb(home / "geo.mmdb", {net: {"country": {"iso_code": c}} for net, c in COUNTRIES.items()})
    trusted: dict[str, Any] = {
        "GATEWALL_TRUSTED_PROXIES": "127.0.0.1",
        "GATEWALL_WORKERS": "1",
        "GEOIP_DATABASE": str(countries),
    }
    stack.enter_context(control_plane(home, control, **trusted))
    stack.enter_context(data_plane(home, auth, **trusted))
    api(control, "/authorized-domains", name="public.example", access="public")
    api(control, "/ip-white-list", ip=LET_IN)
    site = stack.enter_context(Upstream())
    return Fronts(stack, tmp_path_factory, Behind(auth, control, site.port), site, home=home)


@pytest.fixture(scope="session")
def stubs(tmp_path_factory, until_folder_ends):
    """Return proxies before a stub of the gate."""
    gate, site = (until_folder_ends.enter_context(Upstream()) for _ in range(2))
    gate.headers = IDENTITY
    return Fronts(until_folder_ends, tmp_path_factory, Behind(gate.port, gate.port, site.port), site, gate)


@pytest.fixture(params=KINDS)
def front(request, wall):
    """Return each proxy in turn, before the real gate."""
    return wall[request.param]


@pytest.fixture(params=KINDS)
def stub(request, stubs):
    """Return each proxy in turn, before a stub of the gate that answers 200 unless configured otherwise."""
    yield stubs[request.param]
    stubs.gate.status, stubs.gate.headers = 200, IDENTITY


@pytest.fixture(scope="session")
def cookie(wall):
    """Return the cookie of the first admin."""
    return sign_in(wall["nginx"].port)


@pytest.fixture(scope="session")
def git_token(wall):
    """Return a git token of the first admin, once it opens the gate."""
    token = api(wall.behind.control, "/users/1/git-tokens", name="laptop")["token"]
    port = wall["nginx"].port
    wait_until(lambda: request(port, "/", {"Service-Git-Token": f"admin:{token}"}).status == 200, what="the token")
    return token
