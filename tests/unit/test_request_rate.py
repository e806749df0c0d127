"""The sliding minute of each client, shared by the processes of a host."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gatewall.kernel.request_rate import ReadOnlyRequestRate, SharedRequestRate
from tests.support.cast import NOW, an_address

MINUTE = NOW // 60 * 60
"""The beginning of a minute."""
HERE, THERE = an_address("192.0.2.1"), an_address("192.0.2.2")


@pytest.fixture
def rate(tmp_path):
    return SharedRequestRate(tmp_path / "rate")


def ask(rate, times, *, client=HERE, limit=5, at=MINUTE):
    return [rate.seconds_over(client, limit, at) for _ in range(times)]


def test_client_within_the_limit_is_not_over(rate):
    assert ask(rate, 5) == [0] * 5


def test_client_is_over_with_the_first_request_beyond_the_limit(rate):
    ask(rate, 5)

    assert rate.seconds_over(HERE, 5, MINUTE) > 0


def test_other_client_is_counted_apart(rate):
    ask(rate, 9)

    assert ask(rate, 5, client=THERE) == [0] * 5


def test_ipv6_client_is_its_64_bit_network(rate):
    ask(rate, 5, client=an_address("2001:db8::1"))

    assert rate.seconds_over(an_address("2001:db8::ffff:1"), 5, MINUTE) > 0
    assert rate.seconds_over(an_address("2001:db8:0:1::1"), 5, MINUTE) == 0


def test_ipv4_and_ipv6_clients_of_the_same_number_are_two(rate):
    ask(rate, 9, client=an_address("0.0.0.1"))

    assert rate.seconds_over(an_address("0:0:0:1::"), 5, MINUTE) == 0


def test_minute_before_counts_by_the_share_that_the_window_covers(rate):
    ask(rate, 5, at=MINUTE)

    assert rate.seconds_over(HERE, 5, MINUTE + 60) > 0
    assert rate.seconds_over(HERE, 5, MINUTE + 60 + 36) == 0


def test_minute_before_the_last_counts_no_more(rate):
    ask(rate, 5, at=MINUTE)

    assert ask(rate, 5, at=MINUTE + 120) == [0] * 5


def test_refused_requests_count_too(rate):
    ask(rate, 500, at=MINUTE)

    assert rate.seconds_over(HERE, 5, MINUTE + 90) > 0


def test_a_clock_step_back_refuses_no_client(rate):
    ask(rate, 50, at=MINUTE + 600)

    assert rate.seconds_over(HERE, 5, MINUTE) == 0


def test_processes_of_a_host_count_together(tmp_path):
    one, other = SharedRequestRate(tmp_path / "rate"), SharedRequestRate(tmp_path / "rate")
    ask(one, 3)
    ask(other, 2)

    assert one.seconds_over(HERE, 5, MINUTE) > 0


def test_counts_survive_a_restart(tmp_path):
    ask(SharedRequestRate(tmp_path / "rate"), 5)

    assert SharedRequestRate(tmp_path / "rate").seconds_over(HERE, 5, MINUTE) > 0


def test_table_is_for_the_owner_alone_and_of_fixed_size(tmp_path):
    rate = SharedRequestRate(tmp_path / "rate")
    size = (tmp_path / "rate").stat().st_size

    for number in range(2000):
        rate.seconds_over(an_address(f"10.0.{number // 250}.{number % 250}"), 5, MINUTE)

    assert (tmp_path / "rate").stat().st_size == size
    assert (tmp_path / "rate").stat().st_mode & 0o777 == 0o600


def test_many_clients_are_counted_apart(rate):
    clients = [an_address(f"10.0.{number // 250}.{number % 250}") for number in range(1000)]

    counts = [sum(map(bool, ask(rate, 2, client=client, limit=1))) for client in clients]

    assert set(counts) == {1}


@given(
    limit=st.integers(1, 90),
    before=st.integers(0, 99),
    now=st.integers(0, 99),
    first=st.floats(0, 59.9),
    second=st.floats(0, 59.9),
)
def test_a_client_that_waits_the_stated_time_is_let_in(tmp_path_factory, limit, before, now, first, second):
    path = tmp_path_factory.getbasetemp() / "rate-of-the-property"
    path.unlink(missing_ok=True)
    rate = SharedRequestRate(path)
    ask(rate, before, limit=limit, at=MINUTE + first)
    over = ask(rate, now + 1, limit=limit, at=MINUTE + 60 + second)[-1]

    assume(over)

    assert over <= 120
    assert rate.seconds_over(HERE, limit, MINUTE + 60 + second + over) == 0


def test_a_read_only_view_gives_the_next_answer_and_counts_nothing(tmp_path, rate):
    looked_at = ReadOnlyRequestRate(tmp_path / "rate")
    ask(rate, 4)
    before = (tmp_path / "rate").read_bytes()

    assert ask(looked_at, 9) == [0] * 9
    assert (tmp_path / "rate").read_bytes() == before
    assert ask(rate, 1) == [0]
    (told,) = ask(looked_at, 1)
    assert told > 0
    assert ask(rate, 1) == [told]


def test_a_read_only_view_creates_no_table(tmp_path):
    assert ask(ReadOnlyRequestRate(tmp_path / "none"), 9) == [0] * 9
    assert not (tmp_path / "none").exists()


def test_a_read_only_view_of_an_incomplete_table_sees_no_request(tmp_path):
    (tmp_path / "short").write_bytes(b"")

    assert ask(ReadOnlyRequestRate(tmp_path / "short"), 9) == [0] * 9


def test_rate_under_an_access_rule_is_counted_apart(tmp_path):
    rate = SharedRequestRate(tmp_path / "rate")

    assert [rate.seconds_over(HERE, 1, MINUTE, rule) for rule in (None, 1, 2)] == [0, 0, 0]
    assert rate.seconds_over(HERE, 1, MINUTE, 2) > 0
    looked_at = ReadOnlyRequestRate(tmp_path / "rate")
    assert looked_at.seconds_over(HERE, 1, MINUTE, 1) > 0
    assert looked_at.seconds_over(HERE, 1, MINUTE, 3) == 0
