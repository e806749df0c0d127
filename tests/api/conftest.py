"""Fixtures of sign-in; the clock stands still while they are used."""

from datetime import timedelta

import pytest

from tests.api.own import OLD
from tests.cast import MOMENT
from tests.factors import an_app


@pytest.fixture
def app(clock, alice):
    """Return the authenticator app of Alice, who has a second factor from now on."""
    return an_app(alice)


@pytest.fixture
def fresh(clock, wall, bob):
    """Return a client that is signed in as Bob, for a second less than too long."""
    return wall.Api(wall.a_token(bob, at=MOMENT - OLD + timedelta(seconds=1)))
