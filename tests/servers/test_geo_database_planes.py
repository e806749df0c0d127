"""``gatewall geo install``: every worker of both planes, pages and the rows of the log know the new countries."""

import time

import pytest

from gatewall.install.launcher import free_port
from tests.support.mmdb import write_mmdb
from tests.support.processes import agent, control_plane, data_plane, manage, prepare, request, wait_until
from tests.support.servers import Admin, about

CLIENT, WORKERS, ROUNDS = "192.0.2.77", "3", 24


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Both planes with three workers each and an agent, started without a geo database."""
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
    """What a worker of the control plane says although it decides for nobody."""
    return admin.post("/policy/explain", client_ip=CLIENT, host="a.example", method="GET", uri="/")["country_code"]


def recorded(admin, ports):
    """The countries in the rows of the answers that the workers of these planes give, several each."""
    answers = [request(port, "/wall/auth", about(client=CLIENT)) for port in ports for _ in range(ROUNDS)]
    wanted, found = {answer.header("X-Gatewall-Decision-Id") for answer in answers}, {}

    def all_there():
        rows = admin.get(f"/access-logs?client_ip={CLIENT}&page_size={len(answers)}")["results"]
        found.update((row["decision_id"], row["country_code"]) for row in rows)
        return wanted <= set(found)

    wait_until(all_there, what="rows of all answers")
    return {found[id_] for id_ in wanted}


def settles(said, country):
    """True once all say this country, within ten looks; the workers look at the file once a second."""
    for _ in range(10):
        if said() == {country}:
            return True
        time.sleep(0.5)
    return False


@pytest.mark.parametrize("country", ["NZ", "DE", "FR"])
def test_all_workers_and_the_log_agree_on_the_countries_of_a_new_database(site, country):
    home, control, auth = site
    admin = Admin(control)

    install(home, country)

    assert settles(lambda: {explained(admin) for _ in range(ROUNDS)}, country)
    assert settles(lambda: recorded(admin, (control, auth)), country)
