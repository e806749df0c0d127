"""Changes of one object by several services become one change of a revision."""

import pytest

from gatewall.kernel.changes import Action, Change, merged


def created(**after):
    return Change("groups", 1, "staff", Action.CREATED, {}, after)


def changed(before, after, name="staff"):
    return Change("groups", 1, name, Action.CHANGED, before, after)


def deleted(**before):
    return Change("groups", 1, "staff", Action.DELETED, before, {})


MERGED = {
    "created, then changed": (
        [created(name="staff", remark=""), changed({"remark": ""}, {"remark": "new"})],
        [created(name="staff", remark="new")],
    ),
    "changed twice": (
        [changed({"a": 1}, {"a": 2}), changed({"a": 2, "b": 1}, {"a": 3, "b": 2})],
        [changed({"a": 1, "b": 1}, {"a": 3, "b": 2})],
    ),
    "changed back": ([changed({"a": 1}, {"a": 2}), changed({"a": 2}, {"a": 1})], []),
    "one field changed back": (
        [changed({"a": 1, "b": 1}, {"a": 2, "b": 2}), changed({"a": 2}, {"a": 1})],
        [changed({"b": 1}, {"b": 2})],
    ),
    "renamed": (
        [changed({"name": "old"}, {"name": "staff"}), changed({"b": 1}, {"b": 2}, name="new")],
        [changed({"name": "old", "b": 1}, {"name": "staff", "b": 2}, name="new")],
    ),
    "changed, then deleted": ([changed({"a": 1}, {"a": 2}), deleted(a=2, b=3)], [deleted(a=1, b=3)]),
    "created, then deleted": ([created(a=1), deleted(a=1)], []),
    "deleted, then created again": ([deleted(a=1, b=2), created(a=1, b=3)], [changed({"b": 2}, {"b": 3})]),
    "deleted, then created as it was": ([deleted(a=1), created(a=1)], []),
    "a secret changed": (
        [changed({"a": 1}, {"a": 2, "secret": "changed"}), changed({"a": 2}, {"a": 1})],
        [changed({}, {"secret": "changed"})],
    ),
    "created and deleted, then created": ([created(a=1), deleted(a=1), created(a=2)], [created(a=2)]),
}


@pytest.mark.parametrize(("changes", "expected"), MERGED.values(), ids=MERGED)
def test_changes_of_one_object_are_merged(changes, expected):
    assert merged([None, *changes, None]) == expected


def test_objects_keep_the_order_of_their_first_changes():
    other = Change("domains", 1, "a.example", Action.CREATED, {}, {"name": "a.example"})

    found = merged([created(a=1), other, changed({"a": 1}, {"a": 2})])

    assert found == [created(a=2), other]
