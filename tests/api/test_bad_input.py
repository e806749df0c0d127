"""Invalid values for every field of every resource: a problem names the field, and nothing is written.

The table is generated from the input serializers, so new fields are included.
"""

import json

import pytest
from django.apps import apps
from django.urls import resolve
from rest_framework import serializers

from accounts.identity_providers.serializers import GroupMapField
from gatewall.api.serializers import FlagField, MomentField, ShapedField, TextField, WholeNumberField
from gatewall.api.settings_input import SettingsInput
from gatewall.policy import revisions
from policies.serializers import NetworkField, RegisteredDomainField
from tests.api.resources import KINDS, Kind, make
from tests.support.form import by_form

pytestmark = pytest.mark.django_db

SETTINGS = Kind("/system/settings", lambda _: {}, {"contact": "us"})
SERIALIZERS = {kind.path: resolve(f"/wall{kind.path}").func.cls.input for kind in KINDS} | {
    SETTINGS.path: SettingsInput
}
WRITTEN = [
    (kind, verb)
    for kind in (*KINDS, SETTINGS)
    for verb in (["POST"] if kind is not SETTINGS else []) + (["PUT"] if kind.change else [])
]
WRITES = pytest.mark.parametrize(("kind", "verb"), WRITTEN, ids=[f"{verb} {kind}" for kind, verb in WRITTEN])
TRIED = [
    pytest.param(kind, verb, name, id=f"{verb} {kind} {name}")
    for kind, verb in WRITTEN
    for name in SERIALIZERS[kind.path]().fields
]

HUGE = (2**63, -(2**63) - 1, 10**30)
NO_TEXTS = (5, 1.5, True, [], ["a"], {}, {"a": "b"}, *HUGE)
NO_MOMENTS = (
    "2030-01-01T00:00:00",
    "2030-01-01",
    "2030-13-01T00:00:00Z",
    "tomorrow",
    "",
    "0999-12-31T23:59:59Z",
    "1000-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    1_900_000_000,
    True,
    [],
    {},
)
WRONG = (
    (serializers.EmailField, ([], {}, True, 5, "nobody", "a@b", "a@\nb.example", "a" * 250 + "@b.example")),
    (FlagField, ("true", "false", "", 1, 0, 1.0, [], {}, *HUGE)),
    (WholeNumberField, ("5", "", 5.5, True, [], {}, *HUGE)),
    (MomentField, NO_MOMENTS),
    (
        NetworkField,
        (*NO_TEXTS, "1.2.3", "1.2.3.4/33", "1.2.3.4/8", "::/129", "localhost", "1.2.3.4/255.0.0.0", "\u0661.2.3.4"),
    ),
    (RegisteredDomainField, (*NO_TEXTS, "unregistered.example", "*", "a b")),
    (TextField, NO_TEXTS),
    (serializers.ChoiceField, ("nonsense", "", "BLOCK", "block\0", 1, True, [], {}, *HUGE)),
    (serializers.ListField, ("text", 5, {}, [5], [None], [""], [[]], [{}], ["unregistered.example"], ["a"] * 1001)),
    (GroupMapField, ("text", 5, True, [], {"a": "b"}, {"a": [5]}, {"a": None}, {"": []}, {"a": ["nobody"]}, *HUGE)),
    (ShapedField, ("text", 5, True, {}, [5], [None], [[]], [{}], ["nonsense"], [{"colour": "red"}], *HUGE)),
)
"""Invalid values by field class; the first matching class counts."""

NAUGHTY = (
    "undefined",
    "NULL",
    "\u202eright to left\u202c \u200f\u05e9\u05dc\u05d5\u05dd",
    "' OR 1=1 --",
    "<script>alert(1)</script>",
    "{{7*7}}${7*7}%s%n",
    "../../etc/passwd",
    "%00%0a",
    "\u200b\ufeff\u2060",
    "a\u2028b",
    "👩\u200d👩\u200d👧\U0001d54b",
    "e\u0301\u0308",
    "two\nlines\tand a tab",
    "=HYPERLINK(1)",
)
FREE_TEXTS = ("remark", "description", "contact", "guard_message")


def bad_values(field):
    """Return values that this field must refuse."""
    values = list(next(wrong for kind, wrong in WRONG if isinstance(field, kind)))
    if field.field_name == "allowed_email_domains":  # of e-mail addresses, not of sites
        values.remove(["unregistered.example"])
    if not field.allow_null:
        values.append(None)
    if isinstance(field, serializers.CharField):
        values += [] if field.allow_blank else [""]
        values += [] if field.allow_blank or not field.trim_whitespace else [" ", "\u3000"]
        values += ["a\0b", "\0", "a\x1bb", "\x1f", "\r\n"]
        values += ["x" * (field.max_length + 1)] if field.max_length else []
    if isinstance(getattr(field, "child", None), serializers.IntegerField):
        values.remove([5])
    if isinstance(field, serializers.IntegerField):
        values += [field.min_value - 1, field.max_value + 1]
    return values


def everything():
    """Return the number of rows of each kind, and of the policy."""
    return {model: model.objects.count() for model in apps.get_models()}, revisions.current()


def target(admin, kind, verb):
    """Return the path for a body, and a valid body."""
    if kind is SETTINGS:
        return kind.path, dict(kind.change)
    return (kind.path, kind.body(1)) if verb == "POST" else (f"{kind.path}/{make(admin, kind)[0]['id']}", kind.change)


@pytest.mark.parametrize("every", [by_form(full=1, default=6)])
@WRITES
def test_invalid_values_are_refused_by_field_and_write_nothing(admin, kind, verb, every):
    """The default form tries a sixth of the values of each field, and other values for the next field."""
    path, body = target(admin, kind, verb)
    before, shown = everything(), admin.get(path).json()

    for place, (name, field) in enumerate(SERIALIZERS[kind.path]().fields.items(), start=WRITTEN.index((kind, verb))):
        for value in bad_values(field)[place % every :: every]:
            response = admin.send(verb, path, json.dumps({**body, name: value}).encode())
            assert response.status_code == 400, (name, value, response.content)
            assert {error["field"].partition(".")[0] for error in response.json()["errors"]} == {name}, value
        text = json.dumps(name)
        for bad in ('"\\ud800"', '["\\udfff"]', f"1, {text}: 1", "NaN")[place % min(every, 4) :: min(every, 4)]:
            assert admin.send(verb, path, f"{{{text}: {bad}}}".encode()).status_code == 400, (name, bad)

    assert everything() == before
    assert admin.get(path).json() == shown


@pytest.mark.parametrize("every", [by_form(full=1, default=5)])
@pytest.mark.parametrize(("kind", "verb", "name"), [case for case in TRIED if case.values[2] in FREE_TEXTS])
def test_a_free_text_is_kept_as_it_was_sent(admin, kind, verb, name, every):
    """The default form tries a fifth of the texts for each field, other texts for the next field, and the longest."""
    path, body = target(admin, kind, verb)
    longest = "ü" * SERIALIZERS[kind.path]().fields[name].max_length
    first = [case.values for case in TRIED].index((kind, verb, name)) % every

    for text in (*NAUGHTY[first::every], longest):
        response = admin.send(verb, path, json.dumps({**body, name: text}).encode())
        assert response.status_code in {200, 201}, (text, response.content)
        row = path if verb == "PUT" else f"{path}/{response.json()['id']}"
        assert admin.get(row).json()[name] == text
        if verb == "POST":
            admin.delete(row)


@pytest.mark.parametrize("path", ["/users", "/licenses"])
def test_too_many_domains_are_refused_without_a_query_each(admin, django_assert_max_num_queries, path):
    kind = next(kind for kind in KINDS if kind.path == path)

    with django_assert_max_num_queries(5):
        response = admin.post(path, {**kind.body(0), "authorized_domains": ["a"] * 100_000})

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"] == "authorized_domains"
