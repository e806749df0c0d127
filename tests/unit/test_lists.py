"""Which list entry applies to a client."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.addresses import NetworkTable
from gatewall.engine.lists import IPLists, Standing
from tests.support.cast import DAY, NOW, OFFICE, a_blocked, an_address, an_allowed


def standing(client, *, blocked=(), allowed=(), domain=None, at=NOW, allowlist_applies=True):
    lists = IPLists([NetworkTable(blocked)], NetworkTable(allowed))
    return lists.standing(an_address(client), domain, at, allowlist_applies=allowlist_applies)


def test_client_on_no_list_has_no_standing():
    found = standing("192.0.2.1", blocked=[a_blocked("198.51.100.0/24")], allowed=[an_allowed("203.0.113.0/24")])

    assert found == Standing()


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.255", "192.0.2.0/24"),
        ("2001:db8::1", "2001:db8::/32"),
        ("2001:db8::1", "2001:DB8:0:0::1"),
        ("::ffff:192.0.2.1", "192.0.2.0/24"),
        ("192.0.2.1", "::ffff:192.0.2.0/120"),
        ("::ffff:c000:201", "192.0.2.1"),
        ("8.8.8.8", "0.0.0.0/0"),
        ("2001:db8::1", "::/0"),
    ],
)
def test_network_holds_its_addresses(client, network):
    entry = a_blocked(network)

    assert standing(client, blocked=[entry]) == Standing(blocked=entry)


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("192.0.3.0", "192.0.2.0/24"),
        ("2001:db9::1", "2001:db8::/32"),
        ("192.0.2.1", "::/0"),
        ("::1", "0.0.0.0/0"),
        ("64:ff9b::c000:201", "192.0.2.0/24"),
        ("::192.0.2.1", "192.0.2.1"),
    ],
)
def test_network_holds_no_other_address(client, network):
    assert standing(client, blocked=[a_blocked(network)]) == Standing()


def test_longer_allowlist_prefix_beats_the_blocklist():
    entry = an_allowed("192.0.2.1")

    assert standing("192.0.2.1", blocked=[a_blocked("192.0.2.0/24")], allowed=[entry]) == Standing(allowed=entry)


def test_longer_blocklist_prefix_beats_the_allowlist():
    entry = a_blocked("192.0.2.1")

    assert standing("192.0.2.1", blocked=[entry], allowed=[an_allowed("192.0.2.0/24")]) == Standing(blocked=entry)


def test_blocklist_wins_a_tie():
    entry = a_blocked("192.0.2.0/24")

    assert standing("192.0.2.1", blocked=[entry], allowed=[an_allowed("192.0.2.0/24")]) == Standing(blocked=entry)


@pytest.mark.parametrize("network", ["192.0.2.1", "192.0.2.0/24", "192.0.0.0/16"])
def test_automatic_entry_never_beats_an_allowlist_entry(network):
    entry = an_allowed("192.0.2.0/24")

    found = standing("192.0.2.1", blocked=[a_blocked(network, by_hand=False)], allowed=[entry])

    assert found == Standing(allowed=entry)


def test_automatic_entry_blocks_a_client_on_no_allowlist():
    entry = a_blocked("192.0.2.1", by_hand=False)

    assert standing("192.0.2.1", blocked=[entry]) == Standing(blocked=entry)


def test_automatic_entry_does_not_hide_the_entry_by_hand_behind_it():
    by_hand = a_blocked("192.0.2.0/24", id=2)

    found = standing(
        "192.0.2.1",
        blocked=[a_blocked("192.0.2.1", by_hand=False), by_hand],
        allowed=[an_allowed("192.0.0.0/16")],
    )

    assert found == Standing(blocked=by_hand)


def test_entry_by_hand_and_automatic_entry_of_one_network_count_as_by_hand():
    by_hand = a_blocked("192.0.2.1", id=2)

    found = standing(
        "192.0.2.1",
        blocked=[a_blocked("192.0.2.1", by_hand=False), by_hand],
        allowed=[an_allowed("192.0.2.0/24")],
    )

    assert found == Standing(blocked=by_hand)


def test_allowlist_entry_for_a_domain_applies_to_this_domain():
    entry = an_allowed("192.0.2.1", domain=OFFICE)

    assert standing("192.0.2.1", allowed=[entry], domain=OFFICE) == Standing(allowed=entry)


@pytest.mark.parametrize("domain", ["shop.example", None])
def test_allowlist_entry_for_a_domain_applies_to_no_other_domain(domain):
    assert standing("192.0.2.1", allowed=[an_allowed("192.0.2.1", domain=OFFICE)], domain=domain) == Standing()


def test_allowlist_entry_for_another_domain_does_not_beat_the_blocklist():
    blocked = a_blocked("192.0.2.0/24")

    found = standing(
        "192.0.2.1", blocked=[blocked], allowed=[an_allowed("192.0.2.1", domain=OFFICE)], domain="shop.example"
    )

    assert found == Standing(blocked=blocked)


@pytest.mark.parametrize("order", [1, -1])
def test_entry_for_this_domain_takes_precedence_over_the_one_for_all(order):
    for_all, for_office = an_allowed("192.0.2.1", id=1), an_allowed("192.0.2.1", id=2, domain=OFFICE, inspect=True)

    found = standing("192.0.2.1", allowed=[for_all, for_office][::order], domain=OFFICE)

    assert found == Standing(allowed=for_office)


def test_longer_prefix_for_all_domains_beats_a_shorter_one_for_this_domain():
    for_all, for_office = an_allowed("192.0.2.1", id=1), an_allowed("192.0.2.0/24", id=2, domain=OFFICE)

    found = standing("192.0.2.1", allowed=[for_office, for_all], domain=OFFICE)

    assert found == Standing(allowed=for_all)


def test_allowlist_that_does_not_apply_lets_nobody_in():
    assert standing("192.0.2.1", allowed=[an_allowed("192.0.2.1")], allowlist_applies=False) == Standing()


def test_allowlist_that_does_not_apply_leaves_the_blocklist_alone():
    blocked = a_blocked("192.0.2.0/24", by_hand=False)

    found = standing("192.0.2.1", blocked=[blocked], allowed=[an_allowed("192.0.2.1")], allowlist_applies=False)

    assert found == Standing(blocked=blocked)


@pytest.mark.parametrize(("seconds", "live"), [(-1, True), (-0.001, True), (0, False), (1, False)])
def test_blocklist_entry_ends_at_its_expiry_and_not_before(seconds, live):
    entry = a_blocked("192.0.2.1", expires_at=NOW + DAY)

    assert (standing("192.0.2.1", blocked=[entry], at=NOW + DAY + seconds).blocked is not None) is live


@pytest.mark.parametrize(("seconds", "live"), [(-1, True), (-0.001, True), (0, False), (1, False)])
def test_allowlist_entry_ends_at_its_expiry_and_not_before(seconds, live):
    entry = an_allowed("192.0.2.1", expires_at=NOW + DAY)

    assert (standing("192.0.2.1", allowed=[entry], at=NOW + DAY + seconds).allowed is not None) is live


def test_expired_entry_hides_no_shorter_one():
    live = a_blocked("192.0.2.0/24", id=2)

    assert standing("192.0.2.1", blocked=[a_blocked("192.0.2.1", expires_at=NOW), live]) == Standing(blocked=live)


def test_expired_allowlist_entry_hides_no_shorter_one():
    live = an_allowed("192.0.2.0/24", id=2)

    assert standing("192.0.2.1", allowed=[an_allowed("192.0.2.1", expires_at=NOW), live]) == Standing(allowed=live)


def test_expired_entry_of_the_same_network_hides_no_live_one():
    live = a_blocked("192.0.2.1", id=2)

    assert standing("192.0.2.1", blocked=[a_blocked("192.0.2.1", expires_at=NOW), live]) == Standing(blocked=live)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.booleans(), st.integers(0, 32)), min_size=1, max_size=8, unique=True),
)
def test_longest_prefix_decides_and_the_blocklist_wins_ties(number, prefixes):
    client = an_address(".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0)))
    entries = [(blocks, length, f"{_base(number, length)}/{length}") for blocks, length in prefixes]
    blocks, length, _ = max(entries, key=lambda entry: (entry[1], entry[0]))

    found = IPLists(
        # one table per source: the answer must not depend on the distribution of the entries
        [NetworkTable([a_blocked(network, id=length)]) for blocks, length, network in entries if blocks],
        NetworkTable([an_allowed(network, id=length) for blocks, length, network in entries if not blocks]),
    ).standing(client, None, NOW, allowlist_applies=True)

    speaking = found.blocked if blocks else found.allowed
    assert speaking is not None
    assert speaking.id == length


def _base(number, length):
    first = number >> (32 - length) << (32 - length)
    return ".".join(str(first >> shift & 255) for shift in (24, 16, 8, 0))


def test_if_two_sources_list_a_network_the_first_is_named():
    first, second = a_blocked("192.0.2.0/24", id=7), a_blocked("192.0.2.0/24", id=3)
    lists = IPLists([NetworkTable([first]), NetworkTable([second])], NetworkTable())

    assert lists.standing(an_address("192.0.2.1"), None, NOW, allowlist_applies=True) == Standing(blocked=first)


NETWORKS = st.sampled_from(["192.0.2.0/24", "192.0.2.7/32", "0.0.0.0/1", "2001:db8::/32", "::c000:207/128"])
ENTRIES = st.tuples(NETWORKS, st.sampled_from([None, NOW - 1, NOW + 1]), st.booleans())


@given(
    blocked=st.lists(ENTRIES, max_size=3),
    allowed=st.lists(ENTRIES, max_size=3),
    asked=st.lists(
        st.tuples(
            st.sampled_from(["192.0.2.7", "192.0.2.8", "198.51.100.1", "2001:db8::1", "::c000:207"]),
            st.sampled_from([NOW, NOW + 2]),
            st.booleans(),
        ),
        min_size=2,
    ),
)
def test_the_cache_of_clients_changes_no_answer(blocked, allowed, asked):
    def made():
        refused = NetworkTable([a_blocked(net, by_hand=hand, expires_at=end) for net, end, hand in blocked])
        welcome = NetworkTable(
            [an_allowed(net, expires_at=end, domain=OFFICE if own else None) for net, end, own in allowed]
        )
        return IPLists([refused], welcome)

    kept = made()
    for client, at, applies in asked:
        again, anew = (
            lists.standing(an_address(client), OFFICE, at, allowlist_applies=applies) for lists in (kept, made())
        )
        assert again == anew


def test_the_cache_of_clients_is_bounded():
    lists = IPLists([NetworkTable([])], NetworkTable([]))

    for number in range(10_000):
        lists.standing(an_address(f"10.0.{number >> 8}.{number & 255}"), None, NOW, allowlist_applies=True)

    assert len(lists._unlisted) <= 4_096
