"""The checker of the fault tests finds an answer that no policy in force gives, and no other."""

import math

import pytest

from tests.nemesis.checker import Bounds, Checker, Tally, Wrong
from tests.nemesis.history import Edit, Excuse, History
from tests.nemesis.ledger import Answered
from tests.nemesis.oracle import SETTINGS, Question

CLIENT = "198.51.100.7"
ASKED = Question(CLIENT, "open.example")
OPEN = {("domain", "open.example"): {"access": "public"}, SETTINGS: {"waf_mode": "block", "geo_mode": "block"}}
BAN, LIFT = {("block", CLIENT): {}}, {("block", CLIENT): None}
IN, OUT = (200, "host-public"), (403, "client-blocked")


def edits(*made):
    """Return the edits: the open policy at 0, then these (changes, sent, done, other fields)."""
    return [Edit(OPEN, 0, 0, "a"), *(Edit(changes, sent, done, "a", **more) for changes, sent, done, more in made)]


def found(history, given, sent, received=None, host="a", bounds=Bounds()):  # noqa: B008 - frozen
    answer = Answered(ASKED, sent, sent if received is None else received, *given, host, "data")
    (finding,) = Checker(history, bounds).check([answer])
    return finding


BANNED = History(edits((BAN, 10, 11, {})))


@pytest.mark.parametrize(
    ("given", "sent", "received", "host", "wrong"),
    [
        (IN, 9, 9, "a", None),
        (OUT, 9, 9, "a", Wrong.REFUSED),
        (IN, 10.5, 10.5, "a", None),
        (OUT, 10.5, 10.5, "a", None),
        (OUT, 9.9, 10.1, "a", None),
        (IN, 11.9, 11.9, "a", None),
        (IN, 12.1, 12.1, "a", Wrong.LET_IN),
        (IN, 11.9, 99, "a", None),
        (IN, 12.9, 12.9, "b", None),
        (IN, 13.1, 13.1, "b", Wrong.LET_IN),
        (OUT, 99, 99, "b", None),
        ((401, "credential-missing"), 99, 99, "a", Wrong.REFUSED),
        ((403, "waf-rule"), 99, 99, "a", Wrong.REASON),
        ((503, "cannot-decide"), 99, 99, "a", Wrong.NO_DECISION),
    ],
)
def test_an_answer_is_right_by_a_policy_that_may_be_in_force(given, sent, received, host, wrong):
    assert found(BANNED, given, sent, received, host).wrong == wrong


def test_an_answer_by_an_outdated_policy_is_found_with_its_delay():
    finding = found(BANNED, IN, 14.5)

    assert (finding.wrong, finding.delay) == (Wrong.LET_IN, 3.5)


def test_an_answer_that_no_policy_gives_is_infinitely_late():
    assert found(BANNED, (200, "client-allowed"), 99).delay == math.inf


def test_an_edit_that_was_not_answered_may_be_in_force_or_not_for_ever():
    history = History(edits((BAN, 10, math.inf, {})))

    assert [found(history, given, 99).wrong for given in (IN, OUT)] == [None, None]


def test_each_edit_within_the_window_may_be_in_force():
    history = History(edits((BAN, 10, 10.1, {}), (LIFT, 10.2, 10.3, {}), (BAN, 10.4, 10.5, {})))

    assert [found(history, given, 10.6).wrong for given in (IN, OUT)] == [None, None]
    assert found(history, IN, 11.6).wrong == Wrong.LET_IN


def test_a_later_edit_in_force_ends_an_earlier_pending_edit():
    history = History(edits((BAN, 10, 10.1, {"pending": True}), (LIFT, 10.2, 10.3, {})))
    history.excuses.append(Excuse("a", 10, 10.15))

    assert found(history, OUT, 11.4).wrong == Wrong.REFUSED


def test_the_bound_of_an_isolated_host_starts_when_its_isolation_ends():
    history = History(edits((BAN, 10, 11, {})), [Excuse("b", 10.5, 40)])

    assert [found(history, IN, sent, host="b").wrong for sent in (39, 41.9, 42.1)] == [None, None, Wrong.LET_IN]


def test_isolation_of_the_editing_host_excuses_no_late_answer():
    history = History(edits((BAN, 10, 11, {})), [Excuse("a", 10.5, 40)])

    assert found(history, IN, 12.1).wrong == Wrong.LET_IN


def test_a_pending_edit_has_the_excuse_of_its_host():
    history = History(edits((BAN, 10, 11, {"pending": True})), [Excuse("a", 10.5, 40)])

    assert [found(history, IN, sent).wrong for sent in (40.9, 41.1)] == [None, Wrong.LET_IN]


def test_the_tally_counts_wrong_answers_and_the_worst_delay():
    tally = Tally()
    for given, sent, host in ((IN, 9, "a"), (IN, 11.7, "a"), (IN, 12.8, "b"), (IN, 20, "a"), ((503, ""), 20, "a")):
        tally.add(found(BANNED, given, sent, host=host))

    assert tally.answers == 5
    assert dict(tally.wrong) == {Wrong.LET_IN: 1, Wrong.NO_DECISION: 1}
    assert (tally.worst_here, round(tally.worst_elsewhere, 1)) == (9, 1.8)
