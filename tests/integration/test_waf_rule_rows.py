"""Form rows of a WAF rule: conversion of exclusions and transforms in both directions."""

import pytest
from django.core.exceptions import ValidationError
from django.http import QueryDict

from policies.admin.waf_rule_fields import ExclusionRows, ExclusionsField, TransformRows, TransformsField

EXCLUSIONS = [
    {"domain": "a.example", "path_glob": "/x/*", "json_path": "$.a", "expires_at": "2030-01-31T12:00:00Z"},
    {"path_exact": "/y", "cookie": "c"},
    {"header": "X-Note"},
    {"path_prefix": "/z"},
]


def sent(rows):
    data = QueryDict(mutable=True)
    for row in rows:
        for name, value in row.items():
            data.appendlist(f"exclusions_{name}", value)
    return data


def test_exclusions_come_back_as_they_were():
    rows = ExclusionRows().get_context("exclusions", EXCLUSIONS, {})["widget"]["rows"]

    assert len(rows) == len(EXCLUSIONS) + 1
    assert ExclusionRows().value_from_datadict(sent(rows), {}, "exclusions") == EXCLUSIONS
    assert not ExclusionsField(required=False).has_changed(EXCLUSIONS, EXCLUSIONS)
    assert ExclusionsField(required=False).has_changed(EXCLUSIONS, EXCLUSIONS[:-1])


def test_a_moment_in_another_zone_is_shown_in_utc_and_is_no_change():
    before = [{"path_prefix": "/z", "expires_at": "2030-01-31T14:00:00+02:00"}]
    rows = ExclusionRows().get_context("exclusions", before, {})["widget"]["rows"]
    after = ExclusionRows().value_from_datadict(sent(rows), {}, "exclusions")

    assert after == [{"path_prefix": "/z", "expires_at": "2030-01-31T12:00:00Z"}]
    assert not ExclusionsField(required=False).has_changed(before, after)


def test_a_name_without_a_part_is_refused_and_a_path_without_a_kind_is_a_prefix():
    row = {"domain": "", "path_kind": "", "path": " /a ", "part": "", "name": "", "expires": ""}

    assert ExclusionRows().value_from_datadict(sent([row]), {}, "exclusions") == [{"path_prefix": "/a"}]
    nothing = ExclusionRows().value_from_datadict(sent([row | {"name": "q"}]), {}, "exclusions")
    with pytest.raises(ValidationError):
        ExclusionsField(required=False).clean(nothing)


def test_transforms_keep_their_order_and_unknown_ones():
    data = QueryDict("transforms=lowercase&transforms=&transforms=url-decode,trim")
    chosen = TransformRows().value_from_datadict(data, {}, "transforms")
    widget = TransformRows().get_context("transforms", chosen, {})["widget"]

    assert chosen == ["lowercase", "url-decode", "trim"]
    assert widget["rows"] == [*chosen, "", ""]
    assert ("trim", "trim") in widget["choices"]
    assert TransformsField(required=False).has_changed(chosen, chosen[::-1])
