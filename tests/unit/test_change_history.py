"""The change history: which rows of the policy have changed since a revision."""

import pytest

from gatewall.kernel.changes import Resource
from gatewall.replay.change_history import ChangeHistory


def test_a_history_vouches_for_no_revision_outside_of_its_range():
    history = ChangeHistory(known_from=5, newest=9)

    quiet = [history.row_is_as_of(revision, Resource.WAF_RULES, 1) for revision in (4, 5, 9, 10)]

    assert quiet == [False, True, True, False]


def test_a_change_applies_to_earlier_revisions_only():
    history = ChangeHistory(known_from=0, newest=9)
    history.add(5, [{"resource": "waf-rules", "id": 1, "before": {}, "after": {}}], [{"resource": "waf-rules"}])

    assert [history.row_is_as_of(revision, Resource.WAF_RULES, 1) for revision in (4, 5)] == [False, True]
    assert history.row_is_as_of(4, Resource.WAF_RULES, 2)
    assert not history.resource_is_as_of(4, Resource.WAF_RULES)
    assert history.resource_is_as_of(4, Resource.DOMAINS)


@pytest.mark.parametrize("counts", [[{"resource": "waf-rules"}], None], ids=["too many", "not recorded"])
def test_changes_that_are_not_listed_count_for_every_row(counts):
    history = ChangeHistory(known_from=0, newest=9)
    history.add(5, None, counts)

    assert not history.row_is_as_of(4, Resource.WAF_RULES, 2)
    assert history.setting_is_as_of(4, "waf_mode") is (counts is not None)


def test_a_setting_changes_alone():
    history = ChangeHistory(known_from=0, newest=9)
    change = {"resource": "system/settings", "id": 1, "before": {"waf_mode": "off"}, "after": {"waf_mode": "block"}}
    history.add(5, [change], [{"resource": "system/settings"}])

    assert [history.setting_is_as_of(4, name) for name in ("waf_mode", "request_rate_per_minute")] == [False, True]


def test_the_history_finds_former_values_of_a_setting():
    history = ChangeHistory(known_from=0, newest=9)
    for revision, before, after in ((3, "off", "monitor"), (5, "monitor", "block")):
        change = {"resource": "system/settings", "id": 1, "before": {"waf_mode": before}, "after": {"waf_mode": after}}
        history.add(revision, [change], [{"resource": "system/settings"}])

    assert [history.setting_was_never(revision, "waf_mode", "off") for revision in (2, 3, 5)] == [False, True, True]
    assert not history.setting_was_never(4, "waf_mode", "monitor")
    history.add(7, None, [{"resource": "system/settings"}])
    assert not history.setting_was_never(6, "waf_mode", "off")
