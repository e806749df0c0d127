"""The spool: a record for which ``write`` has returned survives a crash of the process."""

import os
import shutil
from pathlib import Path

import pytest

from audit.spool.losses import loss_files, losses_of
from audit.spool.segments import is_being_written, segment_files
from audit.spool.writer import SpoolWriter
from tests.support.records import a_record
from tests.support.spool_files import in_a_process, losing, read, records

ROOT = Path(__file__).parents[2]


@pytest.fixture
def spool(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def writer(spool):
    writer = SpoolWriter(spool, "node-1")
    yield writer
    writer.close()


def the_segment(spool):
    (path,) = segment_files(spool)
    return path


def test_after_removal_of_the_folder_later_records_and_losses_are_stored(writer, spool):
    writer.write(a_record(1))
    losing(writer, 3)
    shutil.rmtree(spool)
    writer._sync_outside_lock()
    losing(writer, 1)
    writer.write(a_record(2))
    losing(writer, 2)
    writer.write(a_record(3))

    assert read(spool) == [a_record(2), a_record(3)]
    assert [losses_of(path).count for path in loss_files(spool)] == [3]


# Writing and reading.


def test_every_record_written_is_read_back(writer, spool):
    for record in records(500):
        writer.write(record)

    assert read(spool) == records(500)


def test_a_record_is_there_as_soon_as_write_returns(writer, spool):
    writer.write(a_record(1))

    assert read(spool) == [a_record(1)]


def test_without_a_record_there_is_no_file(writer, spool):
    assert segment_files(spool) == []


def test_a_segment_names_its_node_and_itself(writer, spool):
    writer.write(a_record())

    path = the_segment(spool)
    assert path.read_bytes().partition(b"\n")[0] == b'{"spool": 2, "segment": "%s", "node": "node-1"}' % (
        path.stem.encode()
    )


def test_only_the_owner_can_read_the_spool(spool):
    before = os.umask(0)
    try:
        SpoolWriter(spool, "node-1").write(a_record())
    finally:
        os.umask(before)

    assert spool.stat().st_mode & 0o777 == 0o700
    assert the_segment(spool).stat().st_mode & 0o777 == 0o600


def test_a_full_segment_is_followed_by_another(spool):
    writer = SpoolWriter(spool, "node-1", segment_bytes=2000)

    for record in records(50):
        writer.write(record)

    assert len(segment_files(spool)) > 10
    assert all(path.stat().st_size <= 2000 for path in segment_files(spool))
    assert sorted(read(spool), key=lambda record: record.decision_id) == records(50)
    assert writer.lost == 0


def test_segments_are_read_the_oldest_first(spool):
    for name, moment in (("b", 1), ("a", 2), ("c", 3)):
        path = spool / f"{name}.spool"
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, (moment, moment))

    assert [path.stem for path in segment_files(spool)] == ["b", "a", "c"]


def test_the_largest_possible_record_is_read_back(writer, spool):
    rules = [{"id": number, "name": "\u00fc" * 100, "action": "monitor"} for number in range(1500)]
    large = a_record(1, path="\xff" * 2048, query="\xff" * 2048, user_agent="\xff" * 512, rules=rules)

    writer.write(large)
    writer.write(a_record(2))

    assert read(spool) == [large, a_record(2)]


def test_a_record_too_large_to_be_read_is_counted_and_hides_no_other(writer, spool):
    for record in (a_record(1), a_record(2, user_agent="x" * 2**20), a_record(3)):
        writer.write(record)

    assert read(spool) == [a_record(1), a_record(3)]
    assert writer.lost == 1


# A process that dies.


def test_a_killed_process_loses_no_record_that_write_returned_for(spool):
    code = "for n in itertools.count():\n    writer.write(a_record(n)); os.write(1, b'%d\\n' % n)"
    process = in_a_process(code, spool)
    for _ in range(300):
        process.stdout.readline()

    process.kill()

    written = 300 + process.communicate()[0].count(b"\n")
    found = read(spool)
    assert found[:written] == records(written)
    assert len(found) - written in {0, 1}


def test_a_segment_is_being_written_while_its_process_lives(spool):
    process = in_a_process("writer.write(a_record()); print(flush=True); sys.stdin.read()", spool)
    process.stdout.readline()
    alive = is_being_written(the_segment(spool))

    process.kill()
    process.communicate()

    assert (alive, is_being_written(the_segment(spool))) == (True, False)


def test_a_segment_that_is_full_is_not_being_written(spool):
    writer = SpoolWriter(spool, "node-1", segment_bytes=1)

    for record in records(3):
        writer.write(record)

    assert sorted(map(is_being_written, segment_files(spool))) == [False, False, True]


def test_a_segment_is_not_seen_before_it_is_locked(spool):
    code = (
        "seen = []\n"
        "sys.addaudithook(lambda event, _: event == 'fcntl.flock' and seen.append(segment_files(Path(sys.argv[1]))))\n"
        "writer.write(a_record()); print(seen, flush=True)"
    )

    assert in_a_process(code, spool).communicate()[0] == b"[[], []]\n"  # the file of losses, the segment


def test_closing_lets_go_of_the_segment(writer, spool):
    writer.write(a_record())

    writer.close()

    assert not is_being_written(the_segment(spool))


# When it cannot be written.


def test_beyond_the_cap_of_the_folder_records_are_counted_as_lost(spool, caplog):
    writer = SpoolWriter(spool, "node-1", segment_bytes=1, folder_bytes=3000)

    for record in records(20):
        writer.write(record)

    assert writer.lost > 0
    assert len(read(spool)) + writer.lost == 20
    assert sum(path.stat().st_size for path in segment_files(spool)) < 4000
    assert len(caplog.records) == 1


@pytest.fixture
def impatient(monkeypatch):
    """Return a writer that retries at once after a failure."""
    monkeypatch.setattr("audit.spool.writer._RETRY_SECONDS", 0)


@pytest.mark.usefixtures("impatient")
def test_records_are_written_again_when_the_folder_has_room(spool):
    writer = SpoolWriter(spool, "node-1", segment_bytes=1, folder_bytes=600)
    for record in records(3):
        writer.write(record)
    the_segment(spool).unlink()

    writer.write(a_record(9))

    assert (read(spool), writer.lost) == ([a_record(9)], 2)


@pytest.mark.usefixtures("impatient")
def test_a_folder_that_cannot_be_written_loses_records_until_it_can(spool, caplog):
    spool.write_text("a file where the folder should be")
    writer = SpoolWriter(spool, "node-1")
    for record in records(5):
        writer.write(record)
    spool.unlink()

    writer.write(a_record(9))

    assert (writer.lost, read(spool)) == (5, [a_record(9)])
    assert len(caplog.records) == 1


def test_a_concurrently_shipped_segment_loses_no_record(writer, spool):
    spool.mkdir()
    (spool / "gone.spool").symlink_to("shipped and removed")

    writer.write(a_record())

    assert writer.lost == 0


def test_a_failing_descriptor_loses_only_one_record(writer, spool):
    writer.write(a_record(1))
    os.close(writer._descriptor)

    for number in (2, 3):
        writer.write(a_record(number))

    assert writer.lost == 1
    assert {record.decision_id for record in read(spool)} == {a_record(1).decision_id, a_record(3).decision_id}


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
for n in range(12):
    writer.write(a_record(n))
descriptors = len(os.listdir('/proc/self/fd'))
for n in range(30):
    writer.write(a_record(n))
print(writer.lost, len(os.listdir('/proc/self/fd')) - descriptors, flush=True)
"""


def test_a_short_write_ends_the_segment_and_loses_nothing(spool):
    lost, _ = in_a_process(LIMITED, spool, "2000").communicate()[0].split()

    assert lost == b"0"
    assert len(read(spool)) == 42


@pytest.mark.parametrize("room", ["0", "50", "110", "300"])
def test_a_full_disk_loses_records_and_neither_descriptors_nor_names(spool, room):
    lost, descriptors = in_a_process(LIMITED, spool, room).communicate()[0].split()

    assert lost == b"42"
    assert int(descriptors) <= 0
    assert read(spool) == []
    assert list(spool.iterdir()) == []


def test_the_thread_syncs_written_records(writer, spool):
    writer.write(a_record())

    writer._sync_outside_lock()

    assert not writer._unsynced


def test_an_unwritable_folder_is_tried_again_after_a_moment(spool, monkeypatch):
    spool.write_text("a file where the folder should be")
    writer, tries = SpoolWriter(spool, "node-1"), []
    monkeypatch.setattr(writer, "_start_segment", lambda: tries.append(1) or spool.mkdir())
    for record in records(50):
        writer.write(record)

    assert (len(tries), writer.lost) == (1, 50)
