"""What a writer is told about whether his change is in force on this host."""

import pytest

from gatewall import revisions
from policies import rows, services

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def hook():
    """Put another hook in place of the publisher for one test."""
    before = list(revisions._hook)
    yield revisions.call_after_commit
    revisions.call_after_commit(*before)


def broken(_version):
    raise OSError("no room for the lock file")


@pytest.mark.parametrize(
    ("answer", "pending"),
    [(lambda _: True, False), (lambda _: False, True), (broken, True)],
    ids=["yes", "no", "fails"],
)
def test_change_is_pending_unless_the_hook_says_that_it_is_in_force(hook, answer, pending):
    hook(answer)

    services.block_network(actor="alice", network="203.0.113.7")

    assert revisions.publication_is_pending() is pending


def test_change_of_several_segments_is_announced_once(hook):
    asked = []
    hook(lambda version: asked.append(version) or True)

    services.register_domain(actor="alice", name="a.example", access="public")  # changes the settings too

    assert len(asked) == 1


def test_every_change_is_announced(hook):
    asked = []
    hook(lambda version: asked.append(version.revision) or True)

    services.block_network(actor="alice", network="203.0.113.7")
    services.block_network(actor="alice", network="203.0.113.8")

    assert asked == [1, 2]


def test_change_that_is_rolled_back_does_not_keep_the_next_one_from_being_announced(hook):
    asked = []
    hook(lambda version: asked.append(version.revision) or True)
    services.block_network(actor="alice", network="203.0.113.7")
    with pytest.raises(rows.Duplicate):
        services.block_network(actor="alice", network="203.0.113.7")

    services.block_network(actor="alice", network="203.0.113.8")

    assert asked == [1, 2]
