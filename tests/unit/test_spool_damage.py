"""A torn or damaged segment of the spool: earlier records are read, and no record is invented."""

import random
import struct

import pytest

from audit.spool.segments import segment_files
from audit.spool.writer import SpoolWriter
from tests.support.records import a_record, read_records


def records(count):
    return [a_record(number) for number in range(count)]


@pytest.fixture
def three(tmp_path):
    """Return a segment of three records: its path, its bytes, and the end of each frame."""
    writer, ends = SpoolWriter(tmp_path, "node-1"), []
    for record in records(3):
        writer.write(record)
        ends.append(segment_files(tmp_path)[0].stat().st_size)
    writer.close()
    (path,) = segment_files(tmp_path)
    return path, path.read_bytes(), ends


def test_a_tail_torn_anywhere_in_its_three_records_hides_nothing_before_it(three):
    path, data, ends = three

    for length in range(data.index(b"\n") + 1, len(data)):
        path.write_bytes(data[:length])
        assert list(read_records(path)) == records(sum(end <= length for end in ends)), length


def test_a_torn_head_is_an_empty_segment(three):
    path, data, _ = three

    for length in range(data.index(b"\n") + 1):
        path.write_bytes(data[:length])
        assert list(read_records(path)) == []


def test_a_flipped_byte_costs_the_record_it_is_in_and_no_other(three):
    path, data, ends = three
    start, numbers = data.index(b"\n") + 1, random.Random(3)  # noqa: S311 - examples, no secrets

    for at in range(start, len(data)):
        damaged = bytearray(data)
        damaged[at] ^= numbers.randrange(1, 256)
        path.write_bytes(damaged)
        hit = sum(end <= at for end in ends)
        assert list(read_records(path)) == [record for number, record in enumerate(records(3)) if number != hit], at


def test_a_flipped_byte_in_the_head_invents_nothing(three):
    path, data, _ = three

    for at in range(data.index(b"\n") + 1):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert list(read_records(path)) in (records(3), []), at


@pytest.mark.parametrize("head", [b"\0" * 8, b"\xff" * 8, struct.pack(">II", 2**32 - 1, 0), struct.pack(">II", 1, 0)])
def test_nonsense_behind_the_records_is_their_end(three, head, caplog):
    path, data, _ = three
    path.write_bytes(data + head * 1000)

    assert list(read_records(path)) == records(3)
    assert caplog.records == []
