"""Who may see metrics and health details: trusted networks by client address, and the metrics token."""

import pytest

from gatewall.kernel.clientip import TrustedProxies
from gatewall.kernel.trusted_callers import TrustedCallers

TOKEN = "Mt4bN8qZ1xV6rC3kP9wJ2hF7dS5gL0yT"
NETWORKS = TrustedProxies.parse(["127.0.0.0/8", "10.9.0.0/16"])


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "is_trusted"),
    [
        ("127.0.0.1", None, True),
        ("", None, True),
        ("10.9.1.2", "127.0.0.1", True),
        ("127.0.0.1", "203.0.113.9", False),
        ("127.0.0.1", "127.0.0.1, 203.0.113.9", False),
        ("203.0.113.9", "127.0.0.1", False),
        ("203.0.113.9", None, False),
        ("127.0.0.1", "garbage", False),
        ("127.0.0.1", ",".join(["127.0.0.1"] * 33), False),
        ("no address", None, False),
    ],
)
def test_the_client_address_decides_and_not_that_of_the_proxy(peer, forwarded_for, is_trusted):
    assert TrustedCallers(NETWORKS, None).includes(peer, forwarded_for, "") == is_trusted


@pytest.mark.parametrize(
    ("authorization", "is_trusted"),
    [
        (f"Bearer {TOKEN}", True),
        (f"bearer  {TOKEN} ", True),
        (f"Bearer {TOKEN[:-1]}", False),
        ("Bearer ", False),
        ("Bearer t\u00f6ken", False),
        (f"Basic {TOKEN}", False),
        (TOKEN, False),
        ("", False),
    ],
)
def test_the_token_is_accepted_from_every_address(authorization, is_trusted):
    assert TrustedCallers(NETWORKS, TOKEN).includes("203.0.113.9", None, authorization) == is_trusted


def test_without_a_configured_token_none_is_accepted():
    assert not TrustedCallers(NETWORKS, None).includes("203.0.113.9", None, "Bearer ")


def test_token_is_not_shown():
    assert TOKEN not in repr(TrustedCallers(NETWORKS, TOKEN))
