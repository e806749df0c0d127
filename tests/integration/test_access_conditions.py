"""Conditions of access rules: only the canonical form is stored; others are refused with the form to write."""

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from policies import access_conditions as conditions


@pytest.mark.parametrize(
    ("match", "text"),
    [
        ("exact", "/"),
        ("prefix", "/"),
        ("prefix", "/api/v1.0/(draft)[1]"),
        ("prefix", "/caf\u00e9/\u4f60\u597d"),
        ("glob", "/**"),
        ("glob", "/users/*/avatar/**"),
        ("glob", "/plain"),
    ],
)
def test_a_canonical_path_is_accepted(match, text):
    conditions.validate_path(match, text)


@pytest.mark.parametrize(
    ("match", "text", "canonical"),
    [
        ("prefix", "/api/", "/api"),
        ("prefix", "/a//b", "/a/b"),
        ("prefix", "/a/../b", "/b"),
        ("exact", "/a/./b/", "/a/b"),
        ("glob", "/*/", "/*"),
        ("exact", "/%61dmin", "/admin"),
        ("exact", "/%2561dmin", "/admin"),
        ("prefix", "/a%2fb", "/a/b"),
        ("prefix", "/a%2e%2e/b", "/a../b"),
        ("prefix", "/a/%2e%2e/b", "/b"),
        ("prefix", "/a;v=1/b", "/a/b"),
        ("exact", "/a?b=c", "/a"),
        ("exact", "/a#b", "/a"),
        ("prefix", "/a\\b", "/a/b"),
        ("prefix", "admin", "/admin"),
        ("prefix", "/admin/*", "/admin"),
        ("prefix", "/**", "/"),
        ("glob", "/a//*", "/a/*"),
    ],
)
def test_another_spelling_is_refused_with_the_canonical_one(match, text, canonical):
    with pytest.raises(ValidationError) as refused:
        conditions.validate_path(match, text)

    assert refused.value.code == "not-canonical"
    assert repr(canonical) in refused.value.messages[0]
    conditions.validate_path(match, canonical)


@pytest.mark.parametrize(
    ("match", "text"),
    [
        ("prefix", "^/admin.*$"),
        ("prefix", "/admin/.*"),
        ("glob", "/(?i)admin"),
        ("exact", "/100%"),
        ("exact", "/%ff"),
        ("exact", "/a\nb"),
        ("exact", "/a\x7f"),
        ("exact", "/a/*"),
        ("prefix", "/a/*/b"),
        ("glob", "/a/b*"),
        ("glob", "/a/***"),
        ("exact", "/\ud800"),
    ],
)
def test_a_path_without_a_canonical_form_is_refused(match, text):
    with pytest.raises(ValidationError) as refused:
        conditions.validate_path(match, text)

    assert refused.value.code == "invalid"


@given(st.text(st.sampled_from("/.%25;?#\\a*"), max_size=12))
def test_the_canonical_form_is_idempotent(text):
    canonical = conditions.canonical_path(text)

    if "%" not in canonical:
        assert conditions.canonical_path(canonical) == canonical


@pytest.mark.parametrize(
    ("validate", "good", "bad"),
    [
        (conditions.validate_methods, ["GET", "PROPFIND", "VERSION-CONTROL"], ["get", "G T", "", "A" * 33, "GET-"]),
        (conditions.validate_networks, ["192.0.2.0/24", "2001:db8::1"], ["192.0.2.1/24", "192.0.2.7/32", "here"]),
        (conditions.validate_countries, ["DE"], ["de", "XX", "Germany"]),
        (conditions.validate_asns, [1, 4294967295], [0, -1, 4294967296, True, "64500", 1.0]),
        (conditions.validate_weekdays, ["mon", "sun"], ["Mon", "monday", 1]),
        (conditions.validate_credential_kinds, ["session", "git-token", "license"], ["app", "user", None]),
        (
            conditions.validate_paths,
            [{"match": "exact", "value": "/a"}],
            [
                {},
                {"match": "regex", "value": "/a"},
                {"match": "exact", "value": "/" * 600},
                {"value": "/a"},
                "/a",
                {"match": [], "value": "/"},
            ],
        ),
    ],
)
def test_a_list_has_only_known_members(validate, good, bad):
    validate([])
    validate(good)
    for each in bad:
        with pytest.raises(ValidationError):
            validate([*good, each])
    for value in (None, {}, "GET", good * 501):
        with pytest.raises(ValidationError):
            validate(value)


def test_a_time_of_day_has_hours_and_minutes():
    assert [conditions.minute_of(text) for text in ("00:00", "09:30", "23:59", None)] == [0, 570, 1439, None]
    for text in ("24:00", "9:30", "09:60", "09:30:00", "", "0\u0669:30"):
        with pytest.raises(ValidationError):
            conditions.validate_time(text)


def test_a_time_zone_is_one_of_iana():
    for name in ("UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires"):
        conditions.validate_time_zone(name)
    for name in ("Mars/Olympus", "+02:00", "../UTC", "", "/usr/share/zoneinfo/UTC"):
        with pytest.raises(ValidationError) as refused:
            conditions.validate_time_zone(name)
        assert refused.value.code == "unknown-time-zone"
    with pytest.raises(ValidationError, match="Europe/Berlin"):
        conditions.validate_time_zone("europe/berlin")
