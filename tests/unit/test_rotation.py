"""Rotation of a key ring, and when a key is dropped."""

from datetime import UTC, datetime, timedelta

import pytest

from gatewall.credentials.keyring import KeyRing, SigningKey
from gatewall.credentials.rotation import (
    RESTART_GRACE,
    is_announced,
    made_at,
    new_key,
    new_ring,
    next_key,
    pruned,
    replaced,
    rotated,
)

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
BY_HAND = SigningKey("a", bytes(range(32)))
OLDER_BY_HAND = SigningKey("b", bytes(range(100, 132)))


def after(rotations, ring=None):
    """Return the ring after some rotations, a day apart."""
    ring = ring or new_ring(START)
    for number in range(1, rotations + 1):
        ring = rotated(ring, START + number * DAY)
    return ring


def test_new_ring_has_two_random_keys_and_can_be_written_down():
    ring = new_ring(START)

    assert len({key.secret for key in (*ring.keys, *new_ring(START).keys)}) == 4
    assert KeyRing.parse(ring.text()) == ring


def test_name_of_a_key_contains_its_creation_time():
    assert made_at(new_key(START)) == START
    assert made_at(BY_HAND) is None
    assert made_at(SigningKey("20261399T000000Z-ab", bytes(range(32)))) is None


def test_rotation_uses_the_next_key_and_creates_a_new_next_key():
    before = new_ring(START)

    ring = rotated(before, START + DAY)

    assert (ring.keys[0], ring.keys[2]) == (before.keys[1], before.keys[0])
    assert made_at(ring.keys[1]) == START + DAY


@pytest.mark.parametrize("rotations", range(5))
def test_consecutive_rings_contain_each_others_keys_in_use(rotations):
    before = after(rotations)
    now = rotated(before, START + 10 * DAY)

    assert before.find(now.signing.kid) == now.signing
    assert now.find(before.signing.kid) == before.signing


@pytest.mark.parametrize("keys", [(BY_HAND,), (BY_HAND, OLDER_BY_HAND)], ids=["one key", "two keys"])
def test_ring_by_hand_gets_its_next_key_before_that_signs(keys):
    first = rotated(KeyRing(keys), START)
    second = rotated(first, START + DAY)

    assert first.signing == BY_HAND
    assert next_key(KeyRing(keys)) is None
    assert second.signing == first.keys[1]
    assert set(keys) <= set(second.keys)


def test_retired_key_in_the_second_place_never_signs_again():
    old, new = new_key(START), new_key(START + DAY)

    assert rotated(KeyRing((new, old)), START + 2 * DAY).signing == new


@pytest.mark.parametrize(
    ("ring", "announced"),
    [
        (new_ring(START + DAY - RESTART_GRACE), True),
        (new_ring(START + DAY - RESTART_GRACE + timedelta(seconds=1)), False),
        (KeyRing((BY_HAND,)), True),
        (KeyRing((BY_HAND, new_key(START + DAY))), False),
    ],
    ids=["old enough", "a second younger", "without a next key", "next key made now"],
)
def test_key_is_announced_a_day_after_it_was_made(ring, announced):
    assert is_announced(ring, START + DAY) is announced


@pytest.mark.parametrize("retired", range(1, 6))
def test_key_is_dropped_once_it_was_retired_before_the_moment(retired):
    ring = after(6)  # retired on days 6, 5, 4, 3, 2, 1
    moment = START + retired * DAY

    assert len(pruned(ring, moment - timedelta(seconds=1)).keys) == 2 + 7 - retired
    assert len(pruned(ring, moment).keys) == 2 + 6 - retired
    assert pruned(ring, moment).keys == ring.keys[: 2 + 6 - retired]


def test_needed_keys_are_kept_and_others_dropped():
    ring = after(4)

    assert pruned(ring, START + 9 * DAY, {ring.keys[4].kid}).keys == (*ring.keys[:2], ring.keys[4])


@pytest.mark.parametrize("rotations", range(5))
def test_dropping_in_the_middle_never_makes_a_key_look_retired_earlier(rotations):
    ring = after(5)
    holed = KeyRing((*ring.keys[:2], *ring.keys[3:]))

    assert set(pruned(ring, START + rotations * DAY).keys) - {ring.keys[2]} <= set(
        pruned(holed, START + rotations * DAY).keys
    )


def test_manual_key_is_kept_until_its_retirement_time_is_known():
    ring = after(1, KeyRing((BY_HAND, OLDER_BY_HAND)))  # the next key was made on day 1
    ring = rotated(ring, START + 2 * DAY)

    assert pruned(KeyRing((BY_HAND, OLDER_BY_HAND)), START + 99 * DAY).keys == (BY_HAND, OLDER_BY_HAND)
    assert set(pruned(ring, START + timedelta(hours=23)).keys) == set(ring.keys)
    assert pruned(ring, START + DAY).keys == ring.keys[:3]
    assert pruned(ring, START + 2 * DAY).keys == ring.keys[:2]


@pytest.mark.parametrize("rotations", range(4))
def test_replaced_keys_are_all_retired_at_that_moment(rotations):
    before = after(rotations)
    at = START + 20 * DAY

    ring = replaced(before, at)

    assert set(ring.keys[2:]) == set(before.keys)
    assert {made_at(key) for key in ring.keys[:2]} == {at}
    assert pruned(ring, at).keys == ring.keys[:2]
    assert set(before.keys[:2]) <= set(pruned(ring, at - timedelta(seconds=1)).keys)


def test_replacing_a_ring_by_hand_keeps_its_keys():
    assert replaced(KeyRing((BY_HAND,)), START).keys[2:] == (BY_HAND,)


def test_key_that_was_next_is_the_newest_of_the_replaced_ones():
    before = after(2)
    current, following, *retired = before.keys

    assert replaced(before, START + timedelta(days=9)).keys[2:] == (following, current, *retired)
