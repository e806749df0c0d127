"""Lost records are counted in a file that outlives the process."""

import json
import math
import struct
import uuid

import pytest

from audit.spool.losses import loss_files, losses_of
from audit.spool.writer import SpoolWriter
from tests.support.cast import NOW
from tests.support.processes import wait_until
from tests.support.records import a_record
from tests.support.spool_files import in_a_process, records


@pytest.fixture
def spool(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def writer(spool):
    writer = SpoolWriter(spool, "node-1")
    yield writer
    writer.close()


@pytest.fixture
def impatient(monkeypatch):
    """Return a writer that retries at once after a failure."""
    monkeypatch.setattr("audit.spool.writer._RETRY_SECONDS", 0)


def losses(spool):
    return [losses_of(path) for path in loss_files(spool)]


def test_without_a_loss_the_file_counts_zero(writer, spool):
    writer.write(a_record())

    (found,) = losses(spool)
    assert (found.node, found.count) == ("node-1", 0)


COUNTED = """
import resource
writer.write(a_record(0))
resource.setrlimit(resource.RLIMIT_FSIZE, (528, 528))  # of the file of losses, which is less than one record
for n in itertools.count(1):
    writer.write(a_record(n, at=1000.0 + n)); os.write(1, b'%d\\n' % n)
"""


def test_the_number_of_losses_survives_a_killed_process(spool):
    process = in_a_process(COUNTED, spool)
    for _ in range(300):
        process.stdout.readline()

    process.kill()

    told = 300 + process.communicate()[0].count(b"\n")
    (found,) = losses(spool)
    assert found.count - told in {0, 1}  # killed before it could store the number
    assert found.at == 1000.0 + found.count


def test_the_next_process_continues_the_file_of_a_killed_one(spool):
    for _ in range(2):
        process = in_a_process(COUNTED, spool)
        for _ in range(100):
            process.stdout.readline()
        process.kill()
        process.communicate()

    (found,) = losses(spool)
    assert found.count >= 200


def test_two_living_processes_do_not_share_a_file_of_losses(spool):
    writers = [SpoolWriter(spool, "node-1") for _ in range(2)]
    for writer in writers:
        writer.write(a_record())

    assert len(losses(spool)) == 2
    for writer in writers:
        writer.close()


@pytest.mark.parametrize("file", [{"node": "another"}, {"losses": "none"}, None])
def test_a_foreign_file_of_losses_is_left_alone(spool, file):
    spool.mkdir()
    path = spool / "x.losses"
    if file is None:
        path.mkdir()
    else:
        head = json.dumps({"losses": 1, "id": str(uuid.uuid4()), "node": "node-1", **file}).encode()
        path.write_bytes(head.ljust(512) + bytes(16 if "node" in file else 3))
    before = file and path.read_bytes()

    writer = SpoolWriter(spool, "node-1")
    writer._lose(a_record(), "no reason")
    writer.write(a_record())
    writer.close()

    assert len(loss_files(spool)) == 2
    assert before is None or path.read_bytes() == before


def test_a_process_that_starts_with_a_full_spool_counts_losses_in_a_file(spool):
    spool.mkdir()
    (spool / "much.aside").write_bytes(bytes(5000))

    writer = SpoolWriter(spool, "node-1", folder_bytes=4000)
    for record in records(3):
        writer.write(record)

    assert [found.count for found in losses(spool)] == [3]
    writer.close()


@pytest.mark.usefixtures("impatient")
def test_losses_before_the_file_exists_are_stored_in_it_later(spool):
    spool.write_text("a file where the folder should be")
    writer = SpoolWriter(spool, "node-1")
    for record in records(5):
        writer.write(record)
    spool.unlink()
    writer.write(a_record(9))

    assert [found.count for found in losses(spool)] == [5]


HEAD = b'{"losses": 1, "id": "019cebab-8748-7000-8000-000000000001", "node": "node-1"}'.ljust(511) + b"\n"
NONE = [b"", b"{}", b"\0" * 528, b"[" * 600, b'{"id": 1, "node": ""}'.ljust(528)]
DAMAGED = [
    HEAD + struct.pack("<Qd", *each) for each in [(2**63, NOW), (7, math.nan), (7, math.inf), (7, -1), (7, 1e300)]
]


@pytest.mark.parametrize("content", NONE + DAMAGED)
def test_an_invalid_file_of_losses_is_ignored(tmp_path, content):
    path = tmp_path / "x.losses"
    path.write_bytes(content)

    assert losses_of(path) is None


def test_an_idle_process_has_its_file_before_the_disk_is_full(spool):
    writer = SpoolWriter(spool, "node-1")
    writer.sync_regularly()

    wait_until(lambda: [each.count for each in losses(spool) if each] == [0], what="the file of losses")
    writer.close()


def test_losses_are_stored_when_there_is_room_again_without_a_request(spool):
    spool.write_text("a file where the folder should be")
    writer = SpoolWriter(spool, "node-1")
    writer.sync_regularly()
    for record in records(5):
        writer.write(record)
    spool.unlink()

    wait_until(lambda: [each.count for each in losses(spool) if each] == [5], what="the number of losses")
    writer.close()
