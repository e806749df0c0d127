"""A whole installation under another prefix, with the guard page on the site's host and on its own, behind each proxy
as `gatewall proxy-config` configures it.
"""

import io
import re
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import product
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest
from django.core.management import call_command

from gatewall.install.ports import free_port
from tests.proxies.every import kinds
from tests.proxies.every.kinds import KINDS, Behind, start_nginx_sample
from tests.support.processes import (
    BROWSER,
    PASSWORD,
    agent,
    control_plane,
    data_plane,
    prepare,
    request,
)
from tests.support.servers import Admin
from tests.support.upstream import Upstream

PREFIX, SITE, GUARD = "/gate", "app.example.com", "wall.example.com"
START = {name: kind.start for name, kind in KINDS.items()} | {"nginx": start_nginx_sample}


class Front(NamedTuple):
    """A proxy in front of an installation; `guard` is the host of the guard page."""

    port: int
    guard: str
    site: Upstream

    def get(self, path, host=SITE, **headers):
        return request(self.port, path, {**BROWSER, "Host": host, **headers})


@pytest.fixture(scope="module")
def under_prefix(tmp_path_factory):
    """Return a function that starts both planes under another prefix, once for each host of the guard page."""
    with ExitStack() as stack:
        yield cache(lambda guard: stack.enter_context(installation(tmp_path_factory.mktemp("home"), guard)))


@contextmanager
def installation(home, guard):
    control, auth = free_port(), free_port()
    prepare(home)
    ours = {"ROOT_PATH": PREFIX, "GATEWALL_PUBLIC_URL": f"http://{guard}", "GATEWALL_WORKERS": "1"}
    with (
        Upstream() as site,
        agent(home, **ours),
        control_plane(home, control, **ours),
        data_plane(home, auth, **ours),
    ):
        Admin(control, prefix=PREFIX).post("/authorized-domains", name=SITE)
        yield Behind(auth, control, site.port, PREFIX, GUARD if guard == GUARD else ""), site


GUARDS = {"guard page of the site": SITE, "guard page of its own host": GUARD}


@pytest.fixture(scope="module", params=product(START, GUARDS), ids=" with the ".join)
def proxy(request, under_prefix, tmp_path_factory):
    """Return each proxy in turn, with the files that the command wrote."""
    name, guard = request.param[0], GUARDS[request.param[1]]
    behind, site = under_prefix(guard)
    folder, samples = name.lower().replace(" ", "-"), tmp_path_factory.mktemp("samples")
    options = {"site": SITE, "root_path": PREFIX, "public_url": f"http://{guard}", "into": samples / folder}
    call_command("proxy_config", folder, **options, stdout=io.StringIO())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinds, "DEPLOY", samples)
        with START[name](tmp_path_factory.mktemp("running"), behind) as port:
            yield Front(port, guard, site)


def path_of(url):
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def test_a_visitor_signs_in_at_the_guard_page_and_lands_on_the_site(proxy):
    asked = proxy.get("/welcome?a=b")
    sign_in = asked.header("Location")
    page = proxy.get(path_of(sign_in), proxy.guard)
    linked = re.findall(rf'"({PREFIX}/static/[^"]+)"', page.body.decode())
    back = re.search(r'name="rd" value="([^"]*)"', page.body.decode())[1]
    form = urlencode({"username": "admin", "password": PASSWORD, "rd": back})
    signed_in = request(proxy.port, f"{PREFIX}/", {"Host": proxy.guard}, method="POST", body=form)
    cookie = signed_in.header("Set-Cookie").partition(";")[0]
    welcome = proxy.get("/welcome?a=b", Cookie=cookie)

    assert (asked.status, page.status, signed_in.status, welcome.status) == (302, 200, 303, 200)
    assert urlsplit(sign_in).path == f"{PREFIX}/"
    assert (urlsplit(sign_in).netloc or SITE) == proxy.guard
    assert linked
    assert {proxy.get(each, proxy.guard).status for each in linked} == {200}
    assert signed_in.header("Location").endswith("/welcome?a=b")
    line, seen = proxy.site.requests[-1]
    assert (line.split()[1], seen["Remote-User"]) == ("/welcome?a=b", "admin")
    assert not seen["Cookie"]


@pytest.mark.parametrize("path", ["/auth", "/auth/forward", "/metrics", "/admin-recover-2fa"])
def test_internal_paths_are_hidden_under_the_prefix(proxy, path):
    assert proxy.get(f"{PREFIX}{path}").status == 404


def test_the_default_prefix_is_a_path_of_the_site(proxy):
    assert urlsplit(proxy.get("/wall/").header("Location")).path == f"{PREFIX}/"


def test_the_host_of_the_guard_page_redirects_to_it(proxy):
    answer = proxy.get("/", proxy.guard)

    assert answer.status == 302
    assert urlsplit(answer.header("Location")).path == f"{PREFIX}/"
