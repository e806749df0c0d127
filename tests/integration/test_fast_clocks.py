"""A session that was ended stays so, whatever the clock of the host that compiles the policy says, within a day."""

import uuid
from datetime import timedelta

import pytest

from accounts import policy_source
from accounts.models import Session
from tests.cast import MOMENT

pytestmark = pytest.mark.django_db
LIFETIME = timedelta(hours=24)


@pytest.fixture
def ended(alice):
    """The id of a session that was issued and ended at the moment of the cast."""
    row = Session.objects.create(
        jti=uuid.uuid4(),
        user=alice,
        session_version=alice.session_version,
        issued_at=MOMENT,
        expires_at=MOMENT + LIFETIME,
        revoked_at=MOMENT,
        client_ip="198.51.100.7",
    )
    return str(row.jti)


@pytest.mark.parametrize("fast", [timedelta(0), timedelta(hours=25), timedelta(hours=47)], ids=str)
def test_an_ended_session_is_in_the_policy_of_a_host_whose_clock_is_fast(ended, fast):
    assert ended in policy_source.revoked_sessions(MOMENT + fast)


def test_two_days_later_nobody_needs_it_any_more(ended):
    assert ended not in policy_source.revoked_sessions(MOMENT + timedelta(hours=49))
