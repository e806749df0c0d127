"""bench.footprint, of an idle `gatewall up`: its table and its targets."""

import os

from bench import footprint, wanted
from bench.cpu import process_tree, proportional_mebibytes, scheduled_alone


def test_memory_and_cpu_are_those_of_each_process_and_of_all():
    rounds = [{"supervisor": 0.01, "data plane": number / 10} for number in (1, 3, 2)]

    result = footprint.summary(rounds, {"supervisor": 6.4, "data plane": 52.3}, 60)

    assert [row["pss_mib"] for row in result["rows"]] == [6.4, 52.3, 58.7]
    assert result["rows"][-1]["cpu_percent"] == {"median": 0.21, "least": 0.11, "most": 0.31}
    assert "| data plane | 52 | 0.20 (0.10 to 0.30) |" in footprint.as_text(result)
    found = wanted.rows("footprint", result)
    assert [(row.figure, row.reached) for row in found] == [("2", True), ("59 MiB", True), ("0.21 % of a core", True)]


def test_exceeded_targets_are_marked():
    rounds = [dict.fromkeys("abcd", 0.2)]

    found = wanted.rows("footprint", footprint.summary(rounds, dict.fromkeys("abcd", 41.0), 60))

    assert [row.reached for row in found] == [False, False, False]


def test_a_process_has_memory_and_time():
    assert os.getpid() in process_tree(os.getpid())
    assert proportional_mebibytes(os.getpid()) > 1
    assert scheduled_alone(os.getpid())[0] > 0
