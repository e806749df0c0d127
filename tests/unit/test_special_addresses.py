"""Public addresses by our own table, independent of the Python version."""

from ipaddress import ip_address, ip_network

import pytest

from gatewall.engine.special_addresses import CLOUD_METADATA, inside_of, is_public

NOT_PUBLIC = {
    "this network": ["0.0.0.0/8"],
    "private use": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
    "shared": ["100.64.0.0/10"],
    "loopback": ["127.0.0.0/8", "::1/128"],
    "link local": ["169.254.0.0/16", "fe80::/10", "fec0::/10"],
    "protocol assignments": ["192.0.0.0/24", "192.0.0.192/32", "2001::/23", "2001::/32", "2001:2::/48", "2001:10::/28"],
    "documentation": ["192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "3fff::/20"],
    "benchmarking": ["198.18.0.0/15"],
    "6to4 relay": ["192.88.99.0/24"],
    "multicast": ["224.0.0.0/4", "ff00::/8"],
    "reserved": ["240.0.0.0/4", "255.255.255.255/32", "::/128", "4000::/3", "5f00::/16"],
    "discard": ["100::/64", "100:0:0:1::/64"],
    "translated": ["64:ff9b:1::/48", "64:ff9b::a00:0/104", "64:ff9b::7f00:0/104", "2002:a00::/24", "2002:7f00::/24"],
    "mapped": ["::ffff:10.0.0.0/104", "::ffff:127.0.0.1/128", "::ffff:0:127.0.0.1/128", "::127.0.0.1/128"],
    "metadata": ["168.63.129.16/32", "::ffff:168.63.129.16/128", "64:ff9b::a83f:8110/128", "2002:a83f:8110::/48"],
}
PUBLIC = [
    *("1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "168.63.129.15"),
    *(
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
    ),
    *("192.0.3.0", "192.31.196.1", "192.52.193.1", "192.167.255.255", "192.169.0.0", "192.175.48.1", "198.17.255.255"),
    *("198.20.0.0", "198.51.99.255", "203.0.114.0", "223.255.255.255", "2000::", "2001:200::", "2001:4860:4860::8888"),
    *("2001:db7:ffff::", "2001:db9::", "2620:4f:8000::1", "2a00:1450:4001:810::200e", "3fff:1000::", "3ffe:ffff::"),
    *("64:ff9b::808:808", "2002:808:808::", "::ffff:8.8.8.8"),
]


@pytest.mark.parametrize("text", [text for texts in NOT_PUBLIC.values() for text in texts])
def test_no_address_of_a_special_block_is_public(text):
    network = ip_network(text)

    assert not is_public(network[0])
    assert not is_public(network[-1])
    assert not is_public(network[network.num_addresses // 2])


@pytest.mark.parametrize("text", PUBLIC)
def test_other_addresses_are_public_up_to_the_edges_of_the_blocks(text):
    assert is_public(ip_address(text))


@pytest.mark.parametrize("address", CLOUD_METADATA, ids=str)
def test_no_address_where_a_cloud_keeps_secrets_is_public(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    ("text", "inside"),
    [("2002:c000:201::1", "192.0.2.1"), ("64:ff9b::c000:201", "192.0.2.1"), ("2001:db8::1", None), ("2003::", None)],
)
def test_address_inside_of_a_translated_one(text, inside):
    assert inside_of(ip_address(text)) == (inside and ip_address(inside))
