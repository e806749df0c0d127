"""The table of filters names every filter and ordering of every list, and no other."""

import pytest

from audit.events.filters import EVENT_FILTERS
from audit.log.filters import FILTERS
from audit.spool.secret_names import is_secret_name
from gatewall.api.filters import ListFilters
from gatewall.api.resources import Resource
from tests.api.routes import patterns
from tests.docs.test_tables import rows, words

LISTS = {
    "/"
    + str(pattern.pattern)
    .strip("^$/")
    .replace("(?P<user_id>[0-9]{1,18})", ":id")
    .replace("(?P<webhook_id>[0-9]{1,18})", ":id"): pattern.callback.cls
    for pattern in patterns()
    if pattern.name.endswith("-list") and issubclass(pattern.callback.cls, Resource)
}


@pytest.mark.parametrize("path", LISTS)
def test_every_filter_and_ordering_of_a_list_is_documented_and_no_other(path):
    view = LISTS[path]
    (row,) = (row for row in rows("api.md", "### Filters") if words(row[0]) == [path])
    common = set(ListFilters.base_filters) if issubclass(view.filterset_class, ListFilters) else set()

    assert set(words(row[1])) == set(view.filterset_class.base_filters) - common
    assert set(words(row[2])) == set(view.ordering_fields) - {"id", "created_at"}


def test_every_list_has_a_row():
    paths = {path for row in rows("api.md", "### Filters") for path in words(row[0])}

    assert paths == set(LISTS)


def test_every_filter_of_the_access_log_is_documented_and_no_other():
    named = {name for row in rows("api.md", "## Access log") for name in words(row[0])}

    beside = {f"{name}_{part}" for name in ("decided_by", "subject") for part in ("kind", "id")}

    assert named | beside == {*FILTERS, "start_time", "end_time"}
    assert beside <= {word for row in rows("api.md", "## Access log") for word in words(row[1])}


def test_every_filter_of_the_security_events_is_documented_and_no_other():
    named = {name for row in rows("api.md", "## Security events") for name in words(row[0])}

    assert named == {*EVENT_FILTERS, "start_time", "end_time"}


def test_documented_names_are_masked_or_kept_as_documented():
    table = rows("security.md", "## What the access log keeps")
    masked, kept = ([name for row in table for name in words(row[column])] for column in (0, 2))

    assert len(masked) > 20
    assert [name for name in masked if not is_secret_name(name)] == []
    assert len(kept) > 10
    assert [name for name in kept if is_secret_name(name)] == []
