"""Requested hosts (vectors HN-20 to HN-29) and the registered domain that each belongs to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.hosts import Authority, Domain, DomainTable, Host, parse_domain_name

SAME_HOST = [
    ("example.com", "example.com"),
    ("EXAMPLE.com", "example.com"),
    ("example.com.", "example.com"),
    ("a_b.example.com", "a_b.example.com"),
    ("localhost", "localhost"),
    ("bücher.de", "xn--bcher-kva.de"),
    ("BÜCHER.de", "xn--bcher-kva.de"),
    ("xn--bcher-kva.de", "xn--bcher-kva.de"),
    ("XN--BCHER-KVA.DE", "xn--bcher-kva.de"),
    ("straße.de", "xn--strae-oqa.de"),
    ("例え.jp.", "xn--r8jz45g.jp"),
    ("192.0.2.1", "192.0.2.1"),
    ("[2001:DB8::1]", "[2001:db8::1]"),
    ("[0:0:0:0:0:0:0:1]", "[::1]"),
    ("a" * 63 + ".de", "a" * 63 + ".de"),
    ("a", "a"),
    (".".join(["a" * 49] * 4 + ["a" * 50]) + ".de", ".".join(["a" * 49] * 4 + ["a" * 50]) + ".de"),
    (".".join(["a" * 49] * 5) + ".de", ".".join(["a" * 49] * 5) + ".de"),
]
NO_HOST = [
    "",
    ".",
    "..",
    "example.com..",
    ".example.com",
    "a..b",
    "-a.de",
    "a-.de",
    "a" * 64 + ".de",
    ".".join(["a" * 50] * 5) + ".de",
    ".".join(["a" * 49] * 3 + ["a" * 50] * 2) + ".de",
    "xn--a.de",
    "xn--.de",
    "xn--bcher-kva\u0308.de",
    "a@b",
    "user:pw@b.de",
    "a/b",
    "a\\b",
    "a%2eb",
    "a b",
    "a\0b",
    "a\rb",
    "a\nb",
    "a\tb",
    "a#b",
    "a?b",
    "a,b",
    "*.example.com",
    "127.1",
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "1.2.3.08",
    "1.2.3.256",
    "1.2.3",
    "1.2.3.4.5",
    "example.0x1",
    "2001:db8::1",
    "::1",
    "[fe80::1%25a]",
    "[fe80::1%eth0]",
    "[::1",
    "[::1]x",
    "[192.0.2.1]",
    "[]",
    "http://example.com",
    "\u2100.de",
    "a" * 5000,
    "ü" * 2000,
]


@pytest.mark.parametrize(("text", "name"), SAME_HOST)
def test_text_names_one_host(text, name):
    assert Host.parse(text) == Host(name)


def test_texts_that_name_no_host_are_parsed_as_none():
    assert [text for text in NO_HOST if Host.parse(text) is not None] == []


def test_texts_that_name_no_host_are_no_authorities():
    assert [text for text in NO_HOST if Authority.parse(f"{text}:80") is not None] == []


def test_mapped_address_in_brackets_has_one_spelling():
    assert Host.parse("[::ffff:1.2.3.4]") == Host.parse("[::FFFF:102:304]") is not None


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("example.com", "example.com", None),
        ("example.com:443", "example.com", 443),
        ("Example.com.:8080", "example.com", 8080),
        ("example.com:080", "example.com", 80),
        ("[::1]:9999", "[::1]", 9999),
        ("[::1]", "[::1]", None),
        ("192.0.2.1:1", "192.0.2.1", 1),
        ("bücher.de:65535", "xn--bcher-kva.de", 65535),
    ],
)
def test_authority_is_a_host_and_a_port(text, host, port):
    assert Authority.parse(text) == Authority(Host(host), port)


@pytest.mark.parametrize("port", ["0", "65536", "99999", "", "http", "-1", "8 0", "٣", "80:80"])
def test_authority_with_a_bad_port_is_parsed_as_none(port):
    assert Authority.parse(f"example.com:{port}") is None


@pytest.mark.parametrize("text", ["example.com", "example.com:8080", "[::1]:443"])
def test_authority_is_written_as_it_was_read(text):
    assert str(Authority.parse(text)) == text


@given(st.text("abzAZ019.-_:[]%/ @*\0\t\n\u00fc\u00df\u0661\uff11\u3002\u200b\u2100", max_size=300))
def test_any_text_is_parsed_to_a_canonical_host_or_none(text):
    host = Host.parse(text)

    assert host is None or Host.parse(host.name) == host


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" Example.COM ", "example.com"),
        ("*.Example.com.", "*.example.com"),
        ("*.bücher.de", "*.xn--bcher-kva.de"),
        ("localhost", "localhost"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("*.de", "*.de"),
    ],
)
def test_domain_to_register_has_one_canonical_name(text, name):
    assert parse_domain_name(text) == name


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.", "*.*.example.com", "a.*.com", "*example.com", "*.127.0.0.1", "*.[::1]", "http://a.de", "a.de:80"],
)
def test_invalid_domain_is_refused_with_a_message(text):
    with pytest.raises(ValueError, match="is not a host name"):
        parse_domain_name(text)


NAMES = ("example.com", "*.example.com", "*.deep.example.com", "a.deep.example.com", "127.0.0.1", "[::1]", "*.0.1")
TABLE = DomainTable([Domain(number, name) for number, name in enumerate(NAMES)])


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("example.com", "example.com"),
        ("www.example.com", "*.example.com"),
        ("a.b.example.com", "*.example.com"),
        ("deep.example.com", "*.example.com"),
        ("b.deep.example.com", "*.deep.example.com"),
        ("a.deep.example.com", "a.deep.example.com"),
        ("x.a.deep.example.com", "*.deep.example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
    ],
)
def test_host_belongs_to_its_exact_domain_or_the_longest_wildcard(host, domain):
    found = TABLE.match(Host.parse(host))

    assert found is not None
    assert found.name == domain


@pytest.mark.parametrize("host", ["evilexample.com", "example.com.evil.test", "com", "example.org", "[::2]"])
def test_host_belongs_to_no_domain(host):
    assert TABLE.match(Host.parse(host)) is None


def test_no_host_belongs_to_no_domain():
    assert TABLE.match(None) is None


def test_a_table_gives_all_its_domains():
    assert [domain.name for domain in TABLE.all()] == list(NAMES)


def test_longest_header_that_names_a_host_is_read_and_a_longer_one_is_not():
    longest = "a" + "\u00ad" * 1020 + ".de"  # soft hyphens, which UTS 46 drops

    assert len(longest) == 1024
    assert Authority.parse(longest) == Authority.parse("a.de")
    assert Authority.parse(f"{longest[0]}\u00ad{longest[1:]}") is None
    assert Host.parse(f"{longest[0]}\u00ad{longest[1:]}") is None


def test_white_space_is_no_part_of_an_authority():
    for text in (
        "x.example ",
        " x.example",
        "\tx.example",
        "x.example\t",
        "x.example :80",
        "x.example: 80",
        "x .example",
    ):
        assert Authority.parse(text) is None


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://X.example", "x.example"),
        ("HTTP://x.example:8080/a b?c", "x.example:8080"),
        ("https://x.example?a://b/", "x.example"),
        ("https://x.example#/", "x.example"),
        ("https://[::1]/", "[::1]"),
    ],
)
def test_the_authority_of_a_url_ends_where_its_path_query_or_fragment_begins(url, authority):
    assert str(Authority.of_url(url)) == authority


@pytest.mark.parametrize(
    "url",
    [
        *("", "x.example", "https:", "https:/x.example/", "https:///x", "ftp://x.example/", "//x.example/"),
        *("https://x.example /", "https:// x.example/", "https://x.example\t/", "https://x.exa\tmple/", "https://x\n/"),
        *(
            "https://user@x.example/",
            "https://x.example\\@evil.example/",
            "https://x.example\\evil/",
            "https://x.example:/",
        ),
        *("https://%78.example/", "https://x.example%20/", "https://x.example:80:80/", "https://x.example\x7f/"),
        *(
            "https://x.example\0/",
            "https://x.example:0/",
            "https://x.example:+80/",
            "https://x..example/",
            " https://x.de/",
        ),
    ],
)
def test_url_with_an_ambiguous_host_has_no_authority(url):
    assert Authority.of_url(url) is None


def test_name_that_ends_in_a_bracket_has_no_port():
    assert str(Authority.parse("[::1]")) == "[::1]"
    assert str(Authority.parse("[::1]:443")) == "[::1]:443"
