"""Addresses that the doctor never connects to, even if a name resolves to them."""

import socket

import pytest

from gatewall.doctor.probing import sending
from gatewall.doctor.probing.probes import Probe
from gatewall.doctor.probing.sending import Way
from gatewall.doctor.probing.target import Target

PROBE = Probe("plain", "0" * 34, "/")


@pytest.fixture
def connected(monkeypatch):
    """Return the addresses that the doctor tried to connect to; none of them answers."""
    found = []

    def refuse(place, *_):
        found.append(place[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(sending, "addresses_of", lambda host, *_, **__: [host])
    monkeypatch.setattr(socket, "create_connection", refuse)
    return found


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "fe80::1",
        "fd00:ec2::254",
        "100.100.100.200",
        "64:ff9b::6464:64c8",
        "192.0.0.192",
        "224.0.0.1",
        "ff02::1",
        "0.0.0.0",
        "::",
    ],
)
def test_the_doctor_connects_to_no_special_or_metadata_address(connected, address):
    reply = sending.send(Target.parse("http://office.example/"), PROBE, Way(address=address))

    assert "cannot be the address of a proxy" in reply.failure
    assert connected == []


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "100.100.100.1", "192.0.2.1"])
def test_the_doctor_connects_to_private_networks(connected, address):
    reply = sending.send(Target.parse("http://office.example/"), PROBE, Way(address=address))

    assert connected == [address]
    assert "cannot be the address of a proxy" not in reply.failure
