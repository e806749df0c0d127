"""When an old worker of the data plane may end: the board that workers and master share."""

import asyncio
from types import SimpleNamespace

import pytest

from gatewall.forwardauth import worker
from gatewall.forwardauth.worker import AuthWorker, Board


@pytest.fixture
def board(monkeypatch):
    board = Board()
    monkeypatch.setattr(worker, "board", board)
    return board


def an_old_worker(age=1, workers=2):
    """A worker that gunicorn has not made: it has what it looks at when it is told to end."""
    old = AuthWorker.__new__(AuthWorker)
    old.age, old.cfg = age, SimpleNamespace(workers=workers)
    return old


async def told_to_end(old, ends):
    ends.set()
    waits = asyncio.create_task(old._until_replaced(ends))
    for _ in range(3):
        await asyncio.sleep(0)
    return waits


def test_a_worker_nobody_replaces_ends_at_once(board):
    async def scene():
        waits = await told_to_end(an_old_worker(), asyncio.Event())
        assert waits.done()

    asyncio.run(scene())


def test_a_worker_that_is_replaced_stays_until_all_its_successors_answer(board):
    async def scene():
        board.replace_up_to(2)
        waits = await told_to_end(an_old_worker(), asyncio.Event())
        for age in (1, 2, 3):
            board.answers(age)
            await asyncio.sleep(2 * worker._LOOK_SECONDS)
            assert not waits.done()
        board.answers(4)
        await waits

    asyncio.run(scene())


def test_a_worker_that_is_told_twice_ends_though_nobody_answers(board):
    async def scene():
        board.replace_up_to(2)
        ends = asyncio.Event()
        waits = await told_to_end(an_old_worker(), ends)
        assert not waits.done()
        ends.set()
        await waits

    asyncio.run(scene())


def test_a_successor_is_replaced_by_the_next_reload_alone(board):
    board.replace_up_to(2)

    assert (board.is_replaced(2), board.is_replaced(3)) == (True, False)
    board.replace_up_to(4)
    assert board.is_replaced(3)


def test_marks_of_workers_long_gone_are_not_counted(board):
    for age in range(1, 5000):
        master, forked = SimpleNamespace(worker_age=age - 1), SimpleNamespace(age=age)
        if age % 3 == 0:
            worker.on_reload(master)
            assert board.successors() == 0
        worker.pre_fork(master, forked)
        board.answers(age)
