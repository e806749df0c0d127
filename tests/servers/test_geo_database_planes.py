"""``gatewall geo install``: all workers of both planes, pages and rows of the log use the new countries."""

import http.cookiejar
import os
import re
import shutil
import urllib.request
from urllib.parse import urlencode

import pytest

from gatewall.install.ports import free_port
from tests.support.mmdb import write_mmdb
from tests.support.processes import PASSWORD, agent, control_plane, data_plane, manage, prepare, request, wait_until
from tests.support.servers import Admin, about

CLIENT, WORKERS, ROUNDS, LOADS = "192.0.2.77", "2", 12, 8


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Run both planes with two workers each and an agent, started without a geo database."""
    home, control, auth = tmp_path_factory.mktemp("home"), free_port(), free_port()
    prepare(home)
    with (
        agent(home),
        control_plane(home, control, GATEWALL_WORKERS=WORKERS),
        data_plane(home, auth, GATEWALL_WORKERS=WORKERS),
    ):
        yield home, control, auth


def install(home, country):
    manage(home, "geo", "install", str(write_mmdb(home / "new.mmdb", {f"{CLIENT}/32": {"country": country}})))


def explained(admin):
    """Return the country in an explanation by a worker of the control plane, which takes no decisions."""
    return admin.post("/policy/explain", client_ip=CLIENT, host="a.example", method="GET", uri="/")["country_code"]


def recorded(admin, ports):
    """Return the countries in the rows of several answers of each worker of these planes."""
    answers = [request(port, "/wall/auth", about(client=CLIENT)) for port in ports for _ in range(ROUNDS)]
    wanted, found = {answer.header("X-Gatewall-Decision-Id") for answer in answers}, {}

    def all_there():
        rows = admin.get(f"/access-logs?client_ip={CLIENT}&page_size={len(answers)}")["results"]
        found.update((row["decision_id"], row["country_code"]) for row in rows)
        return wanted <= set(found)

    wait_until(all_there, what="rows of all answers")
    return {found[id_] for id_ in wanted}


def sign_in(port):
    """Return an opener of pages that is signed in to the admin site."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    url = f"http://127.0.0.1:{port}/wall/admin/login/"
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', opener.open(url).read().decode())[0]
    form = {"csrfmiddlewaretoken": token, "username": "admin", "password": PASSWORD, "next": "/wall/admin/"}
    assert opener.open(url, urlencode(form).encode()).url.endswith("/wall/admin/")
    return opener


def on_the_dashboard(pages, port):
    """Return the client's countries in the lists of one load of the dashboard, on a new connection."""
    text = pages.open(f"http://127.0.0.1:{port}/wall/admin/dashboard/").read().decode()
    return set(re.findall(rf">{re.escape(CLIENT)}</a></th><td[^>]*>\s*([A-Z-]+)", text))


@pytest.mark.parametrize("country", ["NZ", "DE"])
def test_all_workers_and_the_log_agree_on_the_countries_of_a_new_database(site, country):
    home, control, auth = site
    admin = Admin(control)

    install(home, country)

    wait_until(lambda: {explained(admin) for _ in range(ROUNDS)} == {country}, what="all workers to say it")
    wait_until(lambda: recorded(admin, (control, auth)) == {country}, what="all rows to have it")


@pytest.mark.parametrize("country", ["AU", pytest.param("NZ", marks=pytest.mark.full)])
def test_every_load_of_the_dashboard_shows_the_country_of_a_new_database(site, country):
    home, control, auth = site
    assert recorded(Admin(control), (auth,))
    pages = sign_in(control)
    wait_until(lambda: on_the_dashboard(pages, control), what="the client on the dashboard")

    install(home, country)

    assert {frozenset(on_the_dashboard(pages, control)) for _ in range(LOADS)} == {frozenset({country})}


def test_every_worker_survives_a_file_that_is_copied_over_the_database_in_place(site):
    home, control, auth = site
    install(home, "NZ")
    admin, target = Admin(control), home / "geo" / "country.mmdb"
    wait_until(lambda: recorded(admin, (control, auth)) == {"NZ"}, what="all workers to know it")
    before = sorted((home / "run" / "workers").iterdir())

    os.truncate(target, 0)
    assert recorded(admin, (control, auth)) == {"NZ"}
    shutil.copyfile(write_mmdb(home / "new.mmdb", {f"{CLIENT}/32": {"country": "JP"}}), target)

    wait_until(lambda: recorded(admin, (control, auth)) == {"JP"}, what="all workers to read the copy")
    assert sorted((home / "run" / "workers").iterdir()) == before
