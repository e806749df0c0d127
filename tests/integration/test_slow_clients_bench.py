"""bench.slow_clients: the table of sign-in beside slow clients."""

from argparse import Namespace

from bench import slow_clients, wanted


def test_signing_in_beside_slow_clients_is_held_against_signing_in_alone():
    rounds = [
        {"alone": {"p50": 100.0, "p99": 200.0}, "beside slow clients": {"p50": 100.0, "p99": 300.0}},
        {"alone": {"p50": 80.0, "p99": 100.0}, "beside slow clients": {"p50": 160.0, "p99": 260.0}},
    ]

    result = slow_clients.summary(rounds, Namespace(seconds=20.0, rate=5.0, slow=64))
    (p50, p99) = wanted.rows("slow_clients", result)

    assert (p50.figure, p50.reached) == ("1.50 x", None)
    assert (p99.figure, p99.wanted, p99.reached, p99.spread) == ("2.05 x", "<= 2.0", False, "1.50 to 2.60")
    assert "| p99 | 150.0 (100.0 to 200.0) | 280.0 (260.0 to 300.0) | 2.05 (1.50 to 2.60) |" in slow_clients.as_text(
        result
    )
