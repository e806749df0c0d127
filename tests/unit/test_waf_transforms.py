"""Transforms of a value before matching, and where a rule applies and where it does not."""

from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewall.engine.paths import possible_paths
from gatewall.engine.waf.exclusions import Exclusion
from gatewall.engine.waf.forms import canonical_path, decode
from gatewall.engine.waf.matcher import RuleSet
from gatewall.engine.waf.rules import Target, Transform
from gatewall.engine.waf.transforms import apply
from tests.support.cast import NOW, a_request, a_rule

BINARY = bytes(range(0xF0, 0x100)) + b"\xfb\xff"


@pytest.mark.parametrize(
    ("transform", "value", "result"),
    [
        (Transform.LOWERCASE, b"AbC \xc4", b"abc \xc4"),
        (Transform.URL_DECODE, b"%61+%2562%zz", b"a+b%zz"),
        (Transform.HTML_DECODE, b"&lt;a&#62;&#x26;&amp;", b"<a>&&"),
        (Transform.HTML_DECODE, b"&eacute;", "é".encode()),
        (Transform.HTML_DECODE, "é &amp; ü".encode(), "é & ü".encode()),
        (Transform.HTML_DECODE, b"\xff&lt;\x80", b"\xff<\x80"),
        (Transform.HTML_DECODE, b"plain \xff", b"plain \xff"),
        (Transform.HTML_DECODE, b"&#xd800;&#0;&#x110000;", "\ufffd\ufffd\ufffd".encode()),
        (Transform.HTML_DECODE, b"&#" + b"0" * 5_000 + b"60;&#" + b"9" * 5_000 + b"; ", "<\ufffd ".encode()),
        (Transform.BASE64_DECODE, b64encode(b"attack!"), b"attack!"),
        (Transform.BASE64_DECODE, b64encode(b"attack!").rstrip(b"="), b"attack!"),
        (Transform.BASE64_DECODE, b64encode(BINARY), BINARY),
        (Transform.BASE64_DECODE, urlsafe_b64encode(BINARY), BINARY),
        (Transform.BASE64_DECODE, b" YXR0YWNr ", b"attack"),
        (Transform.BASE64_DECODE, b64encode(b"attack!!").rstrip(b"="), b"attack!!"),
        (Transform.BASE64_DECODE, b"-AAA", b"\xf8\0\0"),
        (Transform.BASE64_DECODE, b"_AAA", b"\xfc\0\0"),
        (Transform.BASE64_DECODE, b"YXR0!!!!YWNr", b"YXR0!!!!YWNr"),
        (Transform.BASE64_DECODE, b"not base64!", b"not base64!"),
        (Transform.BASE64_DECODE, b"", b""),
        (Transform.COMPRESS_WHITESPACE, b" a \t\r\n b\x0b\x0cc ", b"a b c"),
        (Transform.REMOVE_WHITESPACE, b" a \t\r\n b ", b"ab"),
        (Transform.REMOVE_NULS, b"\0a\0b\0", b"ab"),
        (Transform.NORMALIZE_PATH, b"/a/./b//../c", b"/a/c"),
    ],
)
def test_transform_changes_a_value(transform, value, result):
    assert apply((transform,), value) == result


def test_every_transform_is_tried():
    assert {each.value for each in Transform} == {
        "lowercase", "url-decode", "html-decode", "base64-decode", "compress-whitespace", "remove-whitespace",
        "remove-nuls", "normalize-path",
    }  # fmt: skip


def test_transforms_are_made_in_their_order():
    value = b64encode(b"ATTACK")

    assert apply((Transform.BASE64_DECODE, Transform.LOWERCASE), value) == b"attack"
    assert apply((Transform.LOWERCASE, Transform.BASE64_DECODE), value) != b"attack"


def test_rule_without_transforms_sees_the_value_itself():
    assert apply((), b" A ") == b" A "


@given(st.sampled_from(Transform), st.binary(max_size=60))
def test_transforms_of_any_value_raise_no_exception(transform, value):
    apply((transform,), value)


@pytest.mark.parametrize(
    ("value", "decoded"),
    [(b"%2e", b"."), (b"%252e", b"."), (b"%25252e", b"."), (b"%2525252e", b"%2e"), (b"%%32e", b"%2e")],
)
def test_value_is_decoded_at_most_three_times(value, decoded):
    assert decode(value) in {decoded, decoded.replace(b"%2e", b".")}


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b"/", b"/"),
        (b"", b"/"),
        (b"//", b"/"),
        (b"//admin//x", b"/admin/x"),
        (b"/./admin/.", b"/admin"),
        (b"/public/../admin", b"/admin"),
        (b"/public/%2e%2e/admin", b"/admin"),
        (b"/public/%252e%252e%252fadmin", b"/admin"),
        (b"/public\\..\\admin", b"/admin"),
        (b"/public%5c..%5cadmin", b"/admin"),
        (b"/../../admin", b"/admin"),
        (b"/admin/", b"/admin/"),
        (b"/%61dmin", b"/admin"),
        (b"/\xff", b"/\xff"),
        (b"*", b"/*"),
    ],
)
def test_path_has_one_canonical_form(raw, path):
    assert canonical_path(raw) == path


@given(st.binary(max_size=40).map(lambda raw: b"/" + raw))
def test_canonical_form_is_one_of_the_readings(raw):
    readings = possible_paths(raw)

    assert readings is None or canonical_path(raw).rstrip(b"/") in {path.rstrip(b"/") for path in readings}


# Where a rule applies.


def matches(rule, domain=None, **parts):
    return bool(RuleSet([rule]).inspect(a_request(**parts), domain))


@pytest.mark.parametrize(("domain", "applies"), [("office.example", True), ("shop.example", False), (None, False)])
def test_rule_for_a_domain_applies_there_alone(domain, applies):
    assert matches(a_rule("attack", domain="office.example"), domain, uri="/attack") is applies


@pytest.mark.parametrize(
    ("uri", "applies"),
    [
        ("/admin?attack", True),
        ("/admin/?attack", True),
        ("/admin/x?attack", True),
        ("/%61dmin/x?attack", True),
        ("//admin/x?attack", True),
        ("/x/../admin?attack", True),
        ("/x/%2e%2e/admin?attack", True),
        ("/administrator?attack", False),
        ("/x/admin?attack", False),
        ("/admin/../x?attack", True),
        ("/admin/%2e%2e?attack", True),
        ("/admin/%252e%252e?attack", True),
        ("//admin/%2e%2e?attack", True),
        ("/x/%252e%252e/admin/%25252e%25252e?attack", True),
        ("/admin;a/users?attack", True),
        ("/admin%3ba/users?attack", True),
        ("/x/..;a/admin?attack", True),
        ("/x;/admin?attack", False),
        ("/administrator;/admin?attack", False),
        ("/?attack=/admin", False),
        ("/Admin?attack", False),
    ],
)
@pytest.mark.parametrize("prefix", ["/admin", "/admin/"])
def test_rule_for_a_path_applies_at_and_below_it(uri, prefix, applies):
    assert matches(a_rule("attack", path_prefix=prefix), uri=uri) is applies


@pytest.mark.parametrize("uri", ["/?attack", "/x?attack", "*?attack"])
def test_rule_for_the_root_path_applies_everywhere(uri):
    assert matches(a_rule("attack", path_prefix="/"), uri=uri)


def test_path_prefix_beyond_ascii_is_utf_8():
    assert matches(a_rule("attack", path_prefix="/bücher"), uri="/b%C3%BCcher/1?attack")


# Exclusions.

IN_ARGS = {"targets": (Target.ARGS,)}


@pytest.mark.parametrize(
    ("exclusion", "spared"),
    [
        (Exclusion(domain="office.example"), True),
        (Exclusion(domain="shop.example"), False),
        (Exclusion(path_prefix="/editor"), True),
        (Exclusion(path_prefix="/edit"), False),
        (Exclusion(argument="html"), True),
        (Exclusion(argument="HTML"), False),
        (Exclusion(argument="other"), False),
        (Exclusion("office.example", "/editor", "html"), True),
        (Exclusion("office.example", "/editor", "other"), False),
        (Exclusion("office.example", "/other", "html"), False),
        (Exclusion("shop.example", "/editor", "html"), False),
        (Exclusion("office.example", "/editor", "html", expires_at=NOW + 1), True),
        (Exclusion("office.example", "/editor", "html", expires_at=NOW), False),
    ],
)
def test_exclusion_applies_if_all_its_conditions_do(exclusion, spared):
    rule = a_rule("attack", exclusions=(exclusion,), **IN_ARGS)

    assert matches(rule, "office.example", uri="/editor/1?html=attack") is not spared


def test_one_matching_exclusion_of_several_is_enough():
    rule = a_rule("attack", exclusions=(Exclusion(argument="a"), Exclusion(argument="b")), **IN_ARGS)

    assert not matches(rule, uri="/?a=attack&b=attack")


def test_exclusions_of_one_path_each_spare_their_argument():
    at_editor = [Exclusion(path_prefix="/editor", argument=name) for name in ("html", "text")]
    rule = a_rule("attack", exclusions=tuple(at_editor), **IN_ARGS)

    assert not matches(rule, uri="/editor/1?html=attack&text=attack")
    assert matches(rule, uri="/other/1?html=attack&text=attack")


def test_excluded_argument_hides_no_other():
    rule = a_rule("attack", exclusions=(Exclusion(argument="html"),), **IN_ARGS)

    assert matches(rule, uri="/?html=attack&q=attack")


def test_excluded_argument_is_known_by_its_decoded_name():
    rule = a_rule("attack", exclusions=(Exclusion(argument="html"),), **IN_ARGS)

    assert not matches(rule, uri="/?%68tml=attack")


@pytest.mark.parametrize("target", [Target.URI, Target.QUERY, Target.PATH])
def test_excluded_argument_spares_no_target_without_arguments(target):
    rule = a_rule("attack", targets=(target,), exclusions=(Exclusion(argument=""), Exclusion(argument="attack")))

    assert matches(rule, uri="/attack?attack=attack")


@pytest.mark.parametrize(
    "uri",
    [
        "/public/../admin?q=attack",
        "/public/%2e%2e/admin?q=attack",
        "/public/..%5cadmin?q=attack",
        "/public/%252e%252e/admin?q=attack",
        "/admin/%252e%252e/public?q=attack",
        "/admin/../public?q=attack",
        "/public;a/admin?q=attack",
        "/public/..;/admin?q=attack",
        "/publicity?q=attack",
    ],
)
def test_exclusion_for_a_path_cannot_be_borrowed(uri):
    assert matches(a_rule("attack", exclusions=(Exclusion(path_prefix="/public"),), **IN_ARGS), uri=uri)


def test_rules_are_reported_in_their_order():
    rules = [a_rule("attack", id=number) for number in (7, 3, 5)]

    assert [rule.id for rule in RuleSet(rules).inspect(a_request(uri="/attack"), None)] == [7, 3, 5]


def test_set_without_rules_matches_nothing():
    assert RuleSet([]).inspect(a_request(uri="/attack"), None) == ()


def test_rules_that_look_at_different_parts_are_reported_in_their_order_too():
    targets = (Target.URI, Target.PATH, Target.URI)
    rules = [a_rule("attack", id=number, targets=(target,)) for number, target in zip((7, 3, 5), targets, strict=True)]

    assert [rule.id for rule in RuleSet(rules).inspect(a_request(uri="/attack"), None)] == [7, 3, 5]


@pytest.mark.parametrize(
    ("raw", "paths"),
    [
        (b"/a\\..//b", {b"/a\\..//b", b"/a\\../b", b"/a/..//b", b"/a/../b", b"//b", b"/b", b"/"}),
        (b"/X;p/y", {b"/X;p/y", b"/X/y"}),
        (b"/%2525252565", {b"/%25252565", b"/%252565", b"/%2565", b"/%65", b"/e"}),
    ],
)
def test_possible_paths_are_as_listed(raw, paths):
    assert set(possible_paths(raw)) == paths


def test_path_prefix_loses_its_slash_and_no_letter():
    rule = a_rule("attack", path_prefix="/docX", targets=(Target.QUERY,))

    assert not matches(rule, uri="/doc/1?attack")
    assert matches(rule, uri="/docX/1?attack")


def test_canonical_path_keeps_its_first_letter():
    assert canonical_path(b"Xfile") == b"/Xfile"
