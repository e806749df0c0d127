"""The keys of failure counts: account and network, network, account."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest
import time_machine

from accounts.models import FailureCount
from gatewall.policy import system_settings
from tests.api.guessing import FIRST_DELAY, HERE, THERE, fail, sign_in, waits
from tests.support.cast import MOMENT
from tests.support.proxies import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "alice", "bob")]


@pytest.mark.parametrize(
    ("seen_at", "days", "at", "status"),
    [
        (THERE, 29, THERE, 200),
        (THERE, 31, THERE, 429),
        (HERE, 1, THERE, 429),
        ("2001:db8:1:2::3", 1, "2001:db8:1:2:ffff::9", 200),
        ("2001:db8:1:2::3", 1, "2001:db8:1:3::3", 429),
    ],
)
def test_known_networks_of_a_user_bypass_the_distributed_lock(clock, seen_at, days, at, status):
    with time_machine.travel(MOMENT - timedelta(days=days), tick=False):
        assert sign_in(password=PASSWORD, at=seen_at).status_code == 200
    system_settings.change(actor="cast", login_failures_per_account=20)
    for number in range(20):
        fail(1, at=f"192.0.2.{number}")

    assert sign_in(password=PASSWORD, at=at).status_code == status


def test_in_a_known_network_the_limit_of_the_pair_still_applies(clock):
    assert sign_in(password=PASSWORD).status_code == 200
    system_settings.change(actor="cast", login_failures_per_account=10)
    for number in range(10):
        fail(1, at=f"192.0.2.{number}")

    assert fail(10) == 401
    assert sign_in(password=PASSWORD).status_code == 429


@pytest.mark.parametrize("username", ["a\0b", "x" * 100_000, "\u0130" * 50, "a b", "%", "\ud7ff"], ids=ascii)
def test_invalid_user_names_are_throttled_too(client, username):
    system_settings.change(actor="cast", login_failures_per_account=1)
    form = urlencode({"username": username, "password": "wrong"})

    pages = [client.post("/wall/", form, content_type="application/x-www-form-urlencoded") for _ in range(2)]

    assert [page.status_code for page in pages] == [401, 429]


@pytest.mark.parametrize("other", ["ALICE", "Alice", " alice "])
def test_names_that_are_one_account_are_counted_as_one(other):
    fail(9)

    assert fail(1, other) == 401
    assert sign_in().status_code == 429


def test_names_with_equal_case_folding_are_counted_as_one_account():
    fail(9, "kate")

    assert fail(2, "\u212aate") == 429  # the Kelvin sign


@pytest.mark.parametrize(
    ("one", "other", "status"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::1", 429),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", 401),
        (HERE, f"::ffff:{HERE}", 429),
        (HERE, "203.0.113.8", 401),
    ],
)
def test_a_network_is_an_ipv4_address_or_the_64_bits_of_an_ipv6_one(one, other, status):
    fail(10, at=one)

    assert sign_in(at=other).status_code == status


def test_typed_names_and_addresses_are_not_stored():
    typed = "my password in the wrong field"

    fail(1, typed)

    rows = str(list(FailureCount.objects.values()))
    assert typed not in rows
    assert HERE not in rows


def test_failures_from_all_networks_count_towards_the_account_limit():
    system_settings.change(actor="cast", login_failures_per_account=20)
    for number in range(20):
        fail(1, at=f"203.0.113.{number}")

    assert waits(sign_in(password=PASSWORD, at=THERE)) == FIRST_DELAY
    assert sign_in("Bob", PASSWORD, at=THERE).status_code == 200
