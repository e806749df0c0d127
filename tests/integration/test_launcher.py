"""Ports that `up` and the tests pick by themselves."""

import random
import socket
from pathlib import Path

from gatewall.operations.launcher import free_port


def test_free_port_is_none_that_an_outgoing_connection_may_take():
    lowest, highest = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())

    ports = {free_port() for _ in range(50)}

    assert not [port for port in ports if lowest <= port <= highest]
    assert len(ports) > 45


def test_free_port_can_be_listened_on():
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port()))
        server.listen(1)


def test_free_port_is_given_to_one_caller_only():
    ports = []
    for _ in range(3):
        random.seed(1)
        ports.append(free_port())

    assert len(set(ports)) == 3
