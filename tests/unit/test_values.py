"""Value classes that are not frozen, because one is created for each request, behave like frozen ones."""

from dataclasses import replace

import pytest

from gatewall.engine.model import Effect, Reason, Verdict

DENIED = Verdict(Effect.DENY, Reason.CLIENT_BLOCKED)


def test_equal_values_are_one_in_a_set():
    assert {DENIED, Verdict(Effect.DENY, Reason.CLIENT_BLOCKED)} == {DENIED}
    assert Verdict(Effect.DENY, Reason.WAF_RULE) != DENIED


def test_a_value_accepts_no_other_attribute():
    with pytest.raises(AttributeError):
        DENIED.more = 1


def test_a_changed_copy_leaves_the_value_as_it_was():
    assert replace(DENIED, reason=Reason.WAF_RULE).reason is Reason.WAF_RULE
    assert DENIED.reason is Reason.CLIENT_BLOCKED
