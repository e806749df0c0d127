"""Start of a plane whose address is still in use by workers of a killed master or by another program."""

import pytest

from gatewall.install import plane_start
from gatewall.install.ports import PortTakenError


class Clock:
    """A clock that advances while the plane sleeps."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def a_plane(clock, *, free_at):
    def require_free(_config):
        if clock.now < free_at:
            raise PortTakenError("taken")

    return plane_start.Plane("", "", lambda *_: None, require_free, lambda _: None, 1.0, {})


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(plane_start, "time", made)
    return made


@pytest.mark.parametrize("free_at", [0.0, 0.5])
def test_a_plane_waits_for_an_address_that_becomes_free(clock, free_at):
    plane_start._wait_for_address(a_plane(clock, free_at=free_at), None)

    assert free_at <= clock.now < free_at + 0.1


def test_a_taken_address_is_refused_after_a_second(clock):
    with pytest.raises(PortTakenError):
        plane_start._wait_for_address(a_plane(clock, free_at=60.0), None)

    assert 1.0 < clock.now < 1.1
