"""Names of domains in the changes of one revision that renames them."""

from gatewall.kernel.changes import Action, Change
from gatewall.kernel.renamed_domains import with_settled_names


def renamed(id_, old, new):
    return Change("authorized-domains", id_, new, Action.CHANGED, {"name": old}, {"name": new})


def moved(old, new):
    return Change("ip-white-list", 1, "entry", Action.CHANGED, {"domain": old}, {"domain": new})


def test_names_are_those_before_and_after_the_revision():
    changes = [moved(None, "a"), renamed(1, "a", "b"), moved("b", "c"), renamed(1, "b", "d"), moved("d", None)]

    found = with_settled_names([None, *changes])

    entries = [(each.before["domain"], each.after["domain"]) for each in found if each.resource == "ip-white-list"]
    assert entries == [(None, "d"), ("a", "c"), ("a", None)]
    assert [each for each in found if each.resource != "ip-white-list"] == [changes[1], changes[3]]


def test_exchanged_names_are_distinguished():
    exchange = [renamed(1, "a", "x"), renamed(2, "b", "a"), renamed(1, "x", "b")]

    first, *_, last = with_settled_names([moved("a", "b"), *exchange, moved("a", "b")])

    assert (first.before, first.after) == ({"domain": "a"}, {"domain": "a"})
    assert (last.before, last.after) == ({"domain": "b"}, {"domain": "b"})


def test_without_a_rename_changes_stay_the_same():
    changes = [moved("a", "b"), moved("b", None)]

    assert with_settled_names(changes) == changes
