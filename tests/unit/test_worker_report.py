"""Reports of the workers of a host to the agent."""

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from gatewall.engine.snapshot import Version
from gatewall.snapshot.worker_report import WorkerReport, WorkerState, living_workers
from tests.support.cast import a_policy

ME = os.getpid()
BASE = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "workers"


def a_dead_pid():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def report_of(folder):
    (path,) = (path for path in folder.iterdir() if path.suffix != ".new")
    return path


def test_without_a_report_there_is_no_worker(folder):
    assert living_workers(folder) == []


def test_a_worker_reports_the_revision_it_has_loaded(folder):
    WorkerReport(folder).loaded(a_policy(version=7))

    assert living_workers(folder) == [WorkerState(ME, 7)]


def test_a_worker_reports_a_refusal_and_the_revision_that_it_keeps(folder):
    report = WorkerReport(folder)
    report.loaded(a_policy(version=7))

    report.rejected("not signed with our key")

    assert living_workers(folder) == [WorkerState(ME, 7, "not signed with our key")]


def test_a_worker_that_never_had_a_policy_reports_revision_0(folder):
    WorkerReport(folder).rejected("no")

    assert living_workers(folder) == [WorkerState(ME, 0, "no")]


def test_a_refusal_is_forgotten_with_the_next_policy(folder):
    report = WorkerReport(folder)
    report.rejected("no")

    report.loaded(a_policy(version=8))

    assert living_workers(folder) == [WorkerState(ME, 8)]


def test_figures_of_the_memo_are_added_to_the_report(folder):
    report, figures = WorkerReport(folder), {"hits": 2, "misses": 1, "number": 1, "bytes": 70}
    report.loaded(a_policy(version=7))
    report.rejected("damaged")

    report.remembered(figures)

    assert living_workers(folder) == [WorkerState(ME, 7, "damaged", heads=figures)]


def test_a_long_reason_is_cut(folder):
    WorkerReport(folder).rejected("x" * 10_000)

    assert len(living_workers(folder)[0].rejected) == 200


def test_files_of_a_dead_worker_are_removed(folder):
    WorkerReport(folder).loaded(a_policy(version=7))
    pid = a_dead_pid()
    for name in (f"{pid}", f"{pid}.new"):
        (folder / name).write_text(f'{{"pid": {pid}, "revision": 6, "rejected": ""}}')
        os.utime(folder / name, (0, 0))

    assert living_workers(folder) == [WorkerState(ME, 7)]
    assert len(left(folder)) == 1


def test_a_worker_counts_while_it_lives_even_in_another_pid_namespace(folder):
    code = (
        "import os, sys; from pathlib import Path; os.getpid = lambda: 999_999_999\n"
        "from gatewall.snapshot.worker_report import WorkerReport\n"
        "WorkerReport(Path(sys.argv[1])).rejected('no'); print('told', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=BASE
    ) as worker:
        assert worker.stdout.readline() == b"told\n"
        assert living_workers(folder) == [WorkerState(999_999_999, 0, "no")]

        worker.kill()
        worker.wait()

    assert living_workers(folder) == []
    assert left(folder) == []


def test_files_of_a_dead_worker_are_removed_even_if_its_pid_is_reused(folder):
    folder.mkdir()
    (folder / str(ME)).write_text(f'{{"pid": {ME}, "revision": 6, "rejected": ""}}')

    assert living_workers(folder) == []


def test_a_report_that_is_just_being_written_is_neither_counted_nor_removed(folder):
    WorkerReport(folder).loaded(a_policy(version=7))
    (folder / f"{ME}.new").write_text(report_of(folder).read_text())

    assert living_workers(folder) == [WorkerState(ME, 7)]
    assert len(left(folder)) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b'{"pid": 1}', b'{"surprise": 1}'])
def test_a_damaged_report_is_not_counted(folder, content):
    folder.mkdir()
    (folder / str(ME)).write_bytes(content)

    assert living_workers(folder) == []


@pytest.mark.parametrize("name", ["0", "-1", "x", "99999999999999999999", ".1"])
def test_a_file_not_named_after_a_process_is_removed(folder, name):
    folder.mkdir()
    (folder / name).write_text('{"pid": 1, "revision": 1, "rejected": ""}')

    living_workers(folder)

    assert left(folder) == []


def test_a_report_is_replaced_as_a_whole(folder):
    report = WorkerReport(folder)
    report.loaded(a_policy(version=1))

    with report_of(folder).open() as opened:
        report.loaded(a_policy(version=2))
        assert '"revision": 1' in opened.read()
    assert len(left(folder)) == 1


def test_workers_of_two_containers_that_have_the_same_process_id_both_count(folder):
    first, second = WorkerReport(folder), WorkerReport(folder)

    first.loaded(a_policy(version=7))
    second.loaded(a_policy(version=8))

    assert sorted(living_workers(folder), key=lambda state: state.revision) == [WorkerState(ME, 7), WorkerState(ME, 8)]


@pytest.mark.parametrize("call", ["fcntl.flock", "os.write", "pathlib.Path.replace"])
def test_a_report_that_cannot_be_written_leaves_no_file_open(folder, monkeypatch, call):
    report = WorkerReport(folder)
    report.loaded(a_policy(version=7))
    before = psutil.Process().num_fds()
    with monkeypatch.context() as broken:
        broken.setattr(call, disk_full)
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                report.loaded(a_policy(version=8))

    assert psutil.Process().num_fds() == before
    assert len(left(folder)) == 1
    assert living_workers(folder) == [WorkerState(ME, 7)]
    report.loaded(a_policy(version=8))
    assert living_workers(folder) == [WorkerState(ME, 8)]


def test_a_report_that_is_replaced_while_somebody_looks_is_kept_and_read(folder, monkeypatch):
    report = WorkerReport(folder)
    report.loaded(a_policy(version=7))
    before, looks = fcntl.flock, []

    def replaced(descriptor, how):
        if how & fcntl.LOCK_SH and not looks:
            looks.append(1)
            report.loaded(a_policy(version=8))
        before(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", replaced)

    assert living_workers(folder) == [WorkerState(ME, 8)]
    assert living_workers(folder) == [WorkerState(ME, 8)]


EPOCH = "0d6e3c8e-2f4b-4f6e-9d3c-1a2b3c4d5e6f"
WANTED = Version(7, 3, 2, EPOCH)


@pytest.mark.parametrize(
    ("version", "has"),
    [
        (WANTED, True),
        (Version(8, 0, 0, EPOCH), True),
        (Version(7, 4, 0, EPOCH), True),
        (Version(6, 9, 9, EPOCH), False),
        (Version(7, 2, 9, EPOCH), False),
        (Version(7, 3, 1, EPOCH), False),
        (Version(9, 9, 9, "7c1f0f6a-55b0-4f1c-8a60-9b1f4f6d2c11"), False),
    ],
)
def test_a_worker_has_a_version_if_it_decides_with_it_or_a_later_one_of_its_epoch(folder, version, has):
    WorkerReport(folder).loaded(a_policy(version=version))

    (state,) = living_workers(folder)

    assert state.has(WANTED) is has


def test_a_worker_without_a_policy_has_no_version(folder):
    WorkerReport(folder).rejected("no")

    (state,) = living_workers(folder)

    assert not state.has(WANTED)
    assert not state.has(Version(0, 0, 0, EPOCH))


def disk_full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")
