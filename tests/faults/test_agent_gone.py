"""A host whose agent is gone still hears of what was changed elsewhere: its control plane stands in."""

import pytest

from gatewall.operations.launcher import free_port
from tests.planes import CLIENT, Verdict, about, ask, tell
from tests.processes import agent, control_plane, data_plane, manage, wait_until

BLOCK = "from policies.services import block_network as block; block(actor='elsewhere', network='{}')"


@pytest.fixture
def host(copied):
    """A host whose agent was killed: its state folder, its data plane, and a token."""
    installation, control, auth = copied(), free_port(), free_port()
    with control_plane(installation.home, control), data_plane(installation.home, auth):
        with agent(installation.home) as first:
            first.kill()
            first.wait()
        yield installation, auth


@pytest.fixture
def elsewhere(host, tmp_path):
    """Block an address from another host of the same database, which has a state folder of its own."""
    installation, _ = host
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    (other / "secrets").symlink_to(installation.home / "secrets")
    database = f"sqlite:///{installation.database}"
    return lambda address: manage(other, "shell", "-c", BLOCK.format(address), DATABASE_URL=database)


def test_a_change_of_another_host_is_in_force_though_no_agent_lives(host, elsewhere, pytestconfig):
    installation, auth = host
    question = about(client=CLIENT, Service_Authorization=installation.token)
    before = ask(auth, question)

    elsewhere(CLIENT)

    wait_until(lambda: {ask(auth, question) for _ in range(8)} == {Verdict(403, "client-blocked")}, 20, "the change")
    tell(pytestconfig, "what another host changed is in force on one whose agent is dead")
    assert before.status == 200
