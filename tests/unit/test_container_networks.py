"""The networks of a container, as ``/proc/net`` of two real kinds of container shows them."""

import pytest

from gatewall.kernel import container_networks, env
from gatewall.kernel.clientip import TrustedProxies
from tests.integration.test_environment import ENOUGH

HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
ROUTE = (
    HEAD
    + "eth0\t00000000\t010012AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    + "eth0\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n"
    + "eth1\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
    + "eth2\t00006408\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"  # 8.100.0.0/24: not private
)
IF_INET6 = """00000000000000000000000000000001 01 80 10 80       lo
fd4d5e6f000000000000000000000003 1d 40 00 80     eth0
fe80000000000000004205fffe120003 1d 40 20 80     eth0
20010db8000000000000000000000003 1e 40 00 80     eth1
26060000000000000000000000000003 1f 40 00 80     eth2
"""
ROUTE6 = (
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "fd4d5e6f000000000000000000000001 00000400 00000003 00000000 00000003     eth0\n"
    "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
    "00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n"
)


@pytest.fixture
def proc(tmp_path):
    for name, text in {"route": ROUTE, "if_inet6": IF_INET6, "ipv6_route": ROUTE6}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_gateways_are_the_peers_of_published_ports(proc):
    assert container_networks.gateways(proc) == ["172.18.0.1", "fd4d:5e6f::1"]


@pytest.mark.parametrize("address", ["172.18.0.2", "172.18.255.254", "192.168.0.9", "fd4d:5e6f::2"])
def test_other_addresses_on_the_networks_of_the_container_are_trusted(proc, address):
    assert TrustedProxies.parse(container_networks.networks(proc)).trusts_peer(address)


@pytest.mark.parametrize(
    "address", ["172.18.0.1", "fd4d:5e6f::1", "172.19.0.2", "8.100.0.2", "2606::2", "fe80::2", "127.0.0.1", "::1"]
)
def test_gateways_and_other_networks_are_not_trusted(proc, address):
    assert not TrustedProxies.parse(container_networks.networks(proc)).trusts_peer(address)


def test_without_ipv6_only_the_ipv4_networks_are_trusted(proc):
    (proc / "if_inet6").unlink()
    (proc / "ipv6_route").unlink()

    assert container_networks.gateways(proc) == ["172.18.0.1"]
    assert TrustedProxies.parse(container_networks.networks(proc)).trusts_peer("172.18.0.2")


def test_container_networks_can_be_combined_with_addresses(proc, tmp_path, monkeypatch):
    monkeypatch.setitem(container_networks.WORDS, "container-networks", lambda: container_networks.networks(proc))
    trusted = env.read(
        {**ENOUGH, "GATEWALL_TRUSTED_PROXIES": "127.0.0.1, container-networks"}, tmp_path
    ).trusted_proxies

    assert [trusted.trusts_peer(peer) for peer in ("127.0.0.1", "172.18.0.2", "172.18.0.1")] == [True, True, False]


def test_container_networks_without_networks_are_refused(tmp_path, monkeypatch):
    monkeypatch.setitem(container_networks.WORDS, "container-networks", list)

    with pytest.raises(env.ConfigError, match="container-networks finds no network here"):
        env.read({**ENOUGH, "GATEWALL_TRUSTED_PROXIES": "container-networks"}, tmp_path)
