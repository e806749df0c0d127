"""Rows by a numeric key: each is found by its name only, even if several have the same number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.snapshot import keyed_rows
from gatewall.snapshot.keyed_rows import KeyedRows, KeyedRowsRefused, Sharded, pack

HEAD = 16


def table(names, number=len):
    rows = pack((number(name), name.encode()) for name in names)
    return KeyedRows(rows, number=number, name=str, read=lambda text: text.decode())


@given(st.sets(st.text(st.sampled_from("abc"), max_size=3)), st.text(st.sampled_from("abc"), max_size=3))
def test_a_row_is_found_by_its_name(names, other):
    rows = table(names)

    assert {name: rows.get(name) for name in names} == {name: name for name in names}
    assert (other in rows) == (other in names)
    assert set(rows) == names
    assert len(rows) == len(names)


class Reader:
    """A reader of tables of numbers that records which rows were read."""

    def __init__(self):
        self.read = []

    def table(self, numbers):
        return KeyedRows(
            pack((number, str(number).encode()) for number in numbers),
            number=int,
            name=int,
            read=lambda text: self.read.append(int(text)) or int(text),
        )


def test_rows_are_cached_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(keyed_rows, "_REMEMBERED", 2)
    reader = Reader()
    rows = Sharded({"0": reader.table([0, 2]), "1": reader.table([1])}, lambda number: str(number % 2))

    asked = [rows[number] for number in (0, 0, 1, 1, 2, 2, 0)]

    assert asked == [0, 0, 1, 1, 2, 2, 0]
    assert reader.read == [0, 1, 2, 0]


def test_iterating_over_all_rows_reads_each_once():
    reader = Reader()
    rows = Sharded({"0": reader.table([0, 2]), "1": reader.table([1])}, lambda number: str(number % 2))

    assert list(rows.values()) == [0, 2, 1]
    assert reader.read == [0, 2, 1]
    assert list(rows) == [0, 2, 1]
    assert len(rows) == len(rows.values()) == 3


@pytest.mark.parametrize(
    "broken",
    [
        lambda _: b"",
        lambda data: data[:HEAD],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: b"yek swor" + data[8:],
        lambda data: data[:8] + b"\xff" * 8 + data[16:],
    ],
    ids=["empty", "head", "short", "long", "other order", "count"],
)
def test_an_invalid_table_is_refused(broken):
    data = pack([(1, b"a"), (2, b"bb")])

    with pytest.raises(KeyedRowsRefused):
        KeyedRows(broken(data), number=int, name=int, read=int)
