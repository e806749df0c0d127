"""Users who would lose or gain access to a host and path, the first part of the result of a backtest."""

import uuid
from datetime import datetime

import pytest

from gatewall.replay.path_groups import path_group
from gatewall.replay.tally import Tally
from tests.support.cast import CLIENT, NOW, OFFICE, a_policy
from tests.unit.test_backtest import a_comparison, a_row


def test_lost_and_gained_access_is_listed_by_subject_and_site():
    shut, opened = (
        a_comparison(a_policy(domains={OFFICE: one}), a_policy(version=2, domains={OFFICE: other}))
        for one, other in (("public", "denied"), ("denied", "public"))
    )
    tally, alice = Tally(), {"kind": "user", "id": 7, "name": "alice"}
    rows = [
        (shut, {"path": "/reports/17/sheets", "subject": alice, "at": NOW - 10}),
        (shut, {"path": "/reports/18/prices", "subject": alice, "at": NOW - 30}),
        (shut, {"path": "/q3", "subject": alice}),
        (opened, {"path": "/q3", "subject": alice}),
        (shut, {"path": "/q3", "subject": {"kind": "license", "id": 7, "name": None}}),
        (shut, {"path": "/q3", "client_ip": "203.0.113.9"}),
    ]

    for number, (comparison, parts) in enumerate(rows):
        row = a_row(number, **parts)
        tally.add(row, comparison.of(row))

    access = tally.result()["access"]
    told = [
        (row["subject"]["name"], row["host"], row["path"], row["loses"], row["count"])
        for row in access["people"]["results"]
    ]
    assert told[0] == ("alice", OFFICE, "/reports/*/**", True, 2)
    assert set(told[1:]) == {
        ("alice", OFFICE, "/q3", True, 1),
        ("alice", OFFICE, "/q3", False, 1),
        (None, OFFICE, "/q3", True, 1),
    }
    first = access["people"]["results"][0]
    assert (first["from"]["reason"], first["to"]["reason"]) == ("host-public", "host-not-authorized")
    assert [datetime.fromisoformat(first[name]).timestamp() for name in ("first_at", "last_at")] == [NOW - 30, NOW - 10]
    assert first["examples"] == [str(uuid.UUID(int=number)) for number in (0, 1)]
    assert [(row["host"], row["loses"], row["count"]) for row in access["hosts"]["results"]] == [
        (OFFICE, True, 5),
        (OFFICE, False, 1),
    ]
    (stranger,) = access["anonymous"]["results"]
    assert (stranger["client_ip"], stranger["path"], stranger["loses"]) == ("203.0.113.9", "/q3", True)


def test_another_reason_for_the_same_refusal_is_no_change_of_access():
    before, after = a_policy(domains={OFFICE: "denied"}), a_policy(version=2, domains={}, blocked=(CLIENT,))
    row, tally = a_row(1), Tally()
    tally.add(row, a_comparison(before, after).of(row))

    result = tally.result()
    assert result["changed"] == 1
    assert [result["access"][kind]["number"] for kind in ("people", "hosts", "anonymous")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("path", "group"),
    [("/", "/"), ("/q3", "/q3"), ("/a/b/", "/a/b"), ("/a/b/c/d", "/a/b/**"), ("/users/42", "/users/*"), ("/42", "/42")],
)
def test_paths_are_grouped_by_their_first_segments(path, group):
    assert path_group(path) == group
