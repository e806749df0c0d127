"""The short form of ``python -m tests.soak``: the soak test works, and nothing fails under its load."""

import pytest

from tests.kill_test import report as kill_report
from tests.soak import report
from tests.soak.judgment import courses_of
from tests.soak.run import Load, installed, soak

SHORT = Load(minutes=0.2, answers=20, edits=2, sign_ins=0.5)


@pytest.mark.full  # the long form runs there too; tests/unit/test_soak_judgment.py tests the judgment
def test_a_soak_samples_every_process_and_nothing_fails(tmp_path):
    with installed(tmp_path, postgresql=False) as (stage, stored_log):
        soaked = soak(stage, stored_log, SHORT, lambda _words: None)

    # Without bounds on latency and growth: a build server may be busy.
    assert kill_report.failures(soaked.account, soaked.ledger) == []
    assert soaked.edits.errors + soaked.edits.refused == 0
    assert soaked.sign_ins.errors + soaked.sign_ins.refused == 0
    assert len(soaked.rows.readable_after) > 1
    courses = courses_of(soaked.samples)
    for process in ("agent", "control plane: worker 2", "data plane: worker 2", "data plane: master"):
        assert courses[f"RSS of {process}, MiB"].first > 1
    assert courses["policy segments"].first > 1
    assert courses["database, MiB"].last > 0
    text = report.text_of(soaked, SHORT, "SQLite", ["something"])
    assert "| edits | " in text
    assert "FAILED: something" in text
