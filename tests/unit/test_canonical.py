"""Canonical forms are idempotent: the canonical form of a canonical form is itself, with the same meaning."""

from hypothesis import assume, example, given
from hypothesis import strategies as st

from gatewall.engine.addresses import canonical_text, parse_network
from gatewall.engine.hosts import Authority, Domain, DomainTable, Host, parse_domain_name
from gatewall.engine.waf.forms import canonical_path

DIGITS = st.text("0123456789abcdefABCDEF.:/", min_size=2, max_size=45)
NETWORKS = st.one_of(st.ip_addresses().map(str), DIGITS) | st.tuples(st.ip_addresses(), st.integers(0, 128)).map(
    lambda pair: f"{pair[0]}/{pair[1]}"
)
LABELS = st.one_of(
    st.text("abzXYZ019-_", min_size=1, max_size=12),
    st.text(st.characters(categories=("L", "N", "M")), min_size=1, max_size=6),
    st.sampled_from(["xn--bcher-kva", "XN--BCHER-KVA", "xn--a", "straße", "ﬁx", "İ", "ǆ", "١٢"]),
)
DOMAINS = st.builds(
    lambda wildcard, labels, dot: wildcard + ".".join(labels) + dot,
    st.sampled_from(["", "", "*."]),
    st.lists(LABELS, min_size=1, max_size=4),
    st.sampled_from(["", "."]),
)


def understood(parse, text):
    """Return the value that ``parse`` gives for a text; discard the example if the text is invalid."""
    try:
        return parse(text)
    except ValueError:
        assume(False)
        raise


@given(NETWORKS)
@example("::ffff:192.0.2.1")
@example("::ffff:192.0.2.0/120")
@example("192.0.2.1/32")
@example("2001:DB8::1/128")
def test_the_canonical_form_of_a_network_is_idempotent(text):
    once = canonical_text(understood(parse_network, text))

    assert canonical_text(parse_network(once)) == once
    assert parse_network(once) == parse_network(text)


@given(DOMAINS)
@example("*.BÜCHER.de.")
@example("[2001:DB8::1]")
@example("192.0.2.1")
def test_the_canonical_form_of_a_domain_is_idempotent(text):
    once = understood(parse_domain_name, text)

    assert parse_domain_name(once) == once


@given(DOMAINS)
def test_a_registered_domain_is_the_domain_of_its_own_host(text):
    name = understood(parse_domain_name, text)
    host = Host.parse(name.replace("*.", "any."))

    if host is not None:
        assert DomainTable([Domain(1, name)]).match(host) == Domain(1, name)


@given(DOMAINS, st.sampled_from(["", ":80", ":8443"]))
def test_the_canonical_form_of_an_authority_is_idempotent(text, port):
    authority = Authority.parse(text + port)
    assume(authority is not None)

    assert Authority.parse(str(authority)) == authority


@given(st.text("/.ab;%\\ü", max_size=30).map(str.encode))
def test_a_canonical_path_without_escapes_is_idempotent(path):
    once = canonical_path(path)

    if b"%" not in once:
        assert canonical_path(once) == once
