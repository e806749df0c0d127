"""The detectors: signals in, verdicts out."""

from dataclasses import replace
from ipaddress import ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatewall.kernel import detectors
from gatewall.kernel.detectors import Detector, Detectors, FailedSignIn, Limits, Probe
from tests.support.cast import NOW, an_address

LIMITS = Limits(
    window_seconds=600,
    brute_force_failures=5,
    stuffing_accounts=4,
    stuffing_accounts_overall=30,
    probing_targets=6,
    probing_rules=4,
)

FEWEST = {
    Detector.BRUTE_FORCE: 5,
    Detector.STUFFING: 4,
    Detector.PATH_PROBING: 6,
    Detector.RULE_PROBING: 3,
}


@pytest.fixture
def watched():
    return Detectors(LIMITS)


def failure(account="a", *, client="192.0.2.1", at=NOW):
    return FailedSignIn(at, an_address(client), account)


def probe(target="/a", rules=(1,), *, client="192.0.2.1", at=NOW, kinds=None):
    named = frozenset([f"rules:{sorted(rules)}"]) if kinds is None else frozenset(kinds)
    return Probe(at, an_address(client), target, named, frozenset(rules))


def found(watched, signals):
    """Return the verdicts, in order."""
    feed = {FailedSignIn: watched.failed_sign_in, Probe: watched.probe}
    return [verdict for signal in signals for verdict in feed[type(signal)](signal)]


def names(verdicts):
    return [verdict.detector for verdict in verdicts]


def test_brute_force_is_detected_at_its_limit_of_failures(watched):
    signals = [failure(at=NOW + number) for number in range(5)]

    assert found(watched, signals[:4]) == []
    (verdict,) = found(watched, signals[4:])

    assert (verdict.detector, verdict.network) == (Detector.BRUTE_FORCE, ip_network("192.0.2.1"))
    assert (verdict.first_at, verdict.at) == (NOW, NOW + 4)
    assert verdict.figures == {"failures": 5, "accounts": 1}


def test_failures_that_are_too_far_apart_are_not_detected(watched):
    assert found(watched, [failure(at=NOW + 150 * number) for number in range(50)]) == []


def test_a_failure_counts_for_less_than_the_whole_window(watched):
    assert found(watched, [failure(at=NOW)] + [failure(at=NOW + 600)] * 4) == []
    assert names(found(watched, [failure(at=NOW + 600)])) == [Detector.BRUTE_FORCE]


def test_a_verdict_uses_up_its_signals(watched):
    assert len(found(watched, [failure()] * 9)) == 1
    assert len(found(watched, [failure()])) == 1


def test_failures_at_many_accounts_are_stuffing_before_they_are_brute_force(watched):
    (verdict,) = found(watched, [failure(account) for account in "aabcd"])

    assert verdict.detector is Detector.STUFFING
    assert verdict.figures == {"failures": 5, "accounts": 4}


def test_failures_of_many_networks_at_one_account_blame_no_network(watched):
    assert found(watched, [failure(client=f"192.0.2.{number}") for number in range(200)]) == []


def test_an_ipv6_subscriber_is_one_64_bit_network(watched):
    verdicts = found(watched, [failure(client=f"2001:db8:0:1::{number}") for number in range(1, 6)])

    assert [verdict.network for verdict in verdicts] == [ip_network("2001:db8:0:1::/64")]
    assert found(watched, [failure(client=f"2001:db8:0:{number}::1") for number in range(2, 9)]) == []


def test_different_targets_refused_for_different_reasons_are_probing(watched):
    signals = [probe(f"/{number}", rules=(number % 2,)) for number in range(6)]

    assert found(watched, signals[:5]) == []
    (verdict,) = found(watched, signals[5:])

    assert (verdict.detector, verdict.figures) == (Detector.PATH_PROBING, {"targets": 6, "rules": 2})


def test_a_page_whose_every_image_trips_one_wrong_rule_is_no_probing(watched):
    assert found(watched, [probe(f"/image-{number}.png") for number in range(40)]) == []


def test_a_page_whose_every_image_carries_a_cookie_that_trips_many_rules_is_no_probing(watched):
    assert found(watched, [probe(f"/image-{number}.png", rules=(1, 2, 3, 4, 5)) for number in range(40)]) == []


def test_a_page_of_a_host_that_is_not_registered_is_no_probing(watched):
    assert found(watched, [probe("host:new.example", (), kinds={"host:new.example"}) for _ in range(40)]) == []


def test_a_page_that_is_refused_again_and_again_is_no_probing(watched):
    assert found(watched, [probe("/search", rules=(1, 2, 3, 4)) for _ in range(100)]) == []


def test_many_hosts_are_probing(watched):
    signals = [probe(f"host:{number}.example", (), kinds={f"host:{number}"}) for number in range(6)]

    assert names(found(watched, signals)) == [Detector.PATH_PROBING]


def test_many_rules_at_several_places_are_rule_probing(watched):
    signals = [probe("/a", (1, 2)), probe("/a", (3, 4)), probe("/b", (1,)), probe("/c", (1,))]

    assert found(watched, signals[:3]) == []
    assert names(found(watched, signals[3:])) == [Detector.RULE_PROBING]


def test_a_distributed_attack_is_reported_once_with_its_networks(watched):
    members = [(client, account) for client in range(8) for account in "abc"]
    early = [failure(f"{n}-{account}", client=f"192.0.2.{n}", at=NOW + n) for n, account in members]
    single = [failure(f"single-{n}", client=f"198.51.100.{n}", at=NOW + 20) for n in range(6)]

    verdicts = found(watched, early + single)

    assert names(verdicts) == [Detector.DISTRIBUTED_STUFFING] + [Detector.STUFFING] * 8
    assert (verdicts[0].network, verdicts[0].figures) == (None, {"accounts": 30})
    assert {str(verdict.network) for verdict in verdicts[1:]} == {f"192.0.2.{n}/32" for n in range(8)}


def test_three_accounts_are_enough_during_a_distributed_attack_only(watched):
    found(watched, [failure(f"{n}", client=f"198.51.100.{n}") for n in range(30)])

    during = found(watched, [failure(f"x{n}", client="192.0.2.1", at=NOW + 1) for n in range(3)])
    after = found(watched, [failure(f"y{n}", client="192.0.2.2", at=NOW + 1000) for n in range(3)])

    assert (names(during), after) == ([Detector.STUFFING], [])


def test_a_continuing_attack_is_reported_every_half_minute(watched):
    def attack(at):
        clients = {n: f"198.51.{n // 200}.{n % 200}" for n in range(300)}
        return names(found(watched, [failure(f"{n}", client=client, at=at) for n, client in clients.items()]))

    assert [attack(NOW + seconds) for seconds in (0, 29, 30, 300, 5000)] == [
        [Detector.DISTRIBUTED_STUFFING],
        [],
        *[[Detector.DISTRIBUTED_STUFFING]] * 3,
    ]


def test_beyond_the_bound_the_least_recent_networks_are_evicted(watched, monkeypatch):
    monkeypatch.setattr(detectors, "MAX_NETWORKS", 3)
    found(watched, [failure()] * 4)
    found(watched, [failure("b", client=f"198.51.100.{number}") for number in range(3)])

    assert len(watched) == 3
    assert found(watched, [failure()]) == []


def test_lowered_limits_apply_at_once(watched):
    found(watched, [failure()] * 3)
    watched.limits = Limits(brute_force_failures=2)

    assert names(found(watched, [failure()])) == [Detector.BRUTE_FORCE]


clients = st.sampled_from(["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8:1::1"])
moments = st.floats(min_value=0, max_value=3000, allow_nan=False).map(lambda seconds: NOW + seconds)
signals = st.lists(
    st.one_of(
        st.builds(failure, st.sampled_from("abcdefgh"), client=clients, at=moments),
        st.builds(
            probe,
            st.sampled_from([f"/{n}" for n in range(9)]),
            st.sets(st.integers(1, 6)).map(tuple),
            client=clients,
            at=moments,
        ),
    ),
    max_size=120,
)


@settings(max_examples=60, deadline=None)
@given(signals)
def test_every_verdict_has_enough_signals_of_its_own(signals):
    watched, unused = Detectors(LIMITS), []
    for signal in signals:
        unused.append(signal)
        for verdict in found(watched, [signal]):
            mine = [each for each in unused if detectors.network_of(each.client) == verdict.network]
            assert verdict.network == detectors.network_of(signal.client)
            assert len(mine) >= FEWEST[verdict.detector]
            unused = [each for each in unused if each not in mine]


@settings(max_examples=60, deadline=None)
@given(signals)
def test_the_memory_per_network_is_bounded_by_the_limits(signals):
    watched = Detectors(LIMITS)
    found(watched, signals)

    for seen in watched._networks.values():
        assert len(seen.failures) <= LIMITS.brute_force_failures
        assert len(seen.accounts) <= LIMITS.stuffing_accounts
        assert len(seen.targets) <= LIMITS.probing_targets
        assert len(seen.rules) <= LIMITS.probing_rules
        assert len(seen.kinds) <= 2


ENOUGH = {
    Detector.BRUTE_FORCE: [failure() for _ in range(5)],
    Detector.STUFFING: [failure(f"{number}") for number in range(4)],
    Detector.PATH_PROBING: [probe(f"/{number}", (number % 2,)) for number in range(6)],
}


@pytest.mark.parametrize("detector", ENOUGH)
def test_signals_from_before_a_clock_step_back_do_not_count(detector):
    *before, last = ENOUGH[detector]

    def found(day):
        watched = Detectors(LIMITS)
        signals = [*(replace(signal, at=NOW + day) for signal in before), last]
        look = watched.probe if isinstance(last, Probe) else watched.failed_sign_in
        return [verdict.detector for signal in signals for verdict in look(signal)]

    assert (found(0), found(86_400)) == ([detector], [])


def test_signals_that_come_a_little_out_of_order_all_count(watched):
    for number in (300, 0, 200, 100):
        assert not watched.failed_sign_in(failure(at=NOW + number))

    assert watched.failed_sign_in(failure(at=NOW + 50))
