"""A host without an agent still publishes changes of other hosts: its control plane stands in."""

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import agent, control_plane, data_plane, wait_until
from tests.support.servers import CLIENT, Verdict, about, ask, tell


@pytest.fixture
def host(copied):
    """Return the installation of a host whose agent was killed, and the port of its data plane."""
    installation, control, auth = copied(), free_port(), free_port()
    with control_plane(installation.home, control, GATEWALL_WORKERS="1"), data_plane(installation.home, auth):
        with agent(installation.home) as first:
            first.kill()
            first.wait()
        yield installation, auth


def test_a_change_of_another_host_is_in_force_without_an_agent(host, elsewhere, pytestconfig):
    installation, auth = host
    question = about(client=CLIENT, Service_Authorization=installation.token)
    before = ask(auth, question)

    elsewhere(installation, CLIENT)

    wait_until(lambda: {ask(auth, question) for _ in range(8)} == {Verdict(403, "client-blocked")}, 20, "the change")
    tell(pytestconfig, "what another host changed is in force on one whose agent is dead")
    assert before.status == 200
