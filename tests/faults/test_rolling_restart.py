"""Workers are replaced and policies reloaded under load: every request is answered. The long form is a command:

python -m tests.nemesis --only "rolling restart" --only "twenty reloads" --answers 100000
"""

import pytest

from tests.nemesis import faults
from tests.nemesis.hosts import Means, play
from tests.support.form import by_form
from tests.support.processes import prepare
from tests.support.servers import tell

ANSWERS = 1000
"""The least number of answers in each round."""


@pytest.mark.parametrize("rounds", [by_form(full=3, default=1)])
def test_replacing_the_workers_and_reloading_loses_no_answer(rounds, tmp_path, pytestconfig):
    prepare(tmp_path / "host-0")
    with play(tmp_path, seed=12, rate=200, means=Means(prepared=True, clocks=False)) as scene, scene.visitors:
        for _ in range(rounds):
            scene.hosts[0].stage.restart_workers("control")
            faults.twenty_reloads(scene)
            scene.visitors.wait_for_more(ANSWERS)
        counts = scene.ledger.counts

    tell(pytestconfig, f"{counts.answers} answers, {counts.again} asked again, while {rounds} times all was replaced")
    assert (counts.errors, counts.broken, counts.refused) == (0, 0, 0)
    assert counts.answers >= rounds * ANSWERS
