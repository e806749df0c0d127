"""The texts of the OpenAPI document: every operation and field has a description, and examples are valid."""

import json

import pytest
from jsonschema import Draft202012Validator

from gatewall.api.documentation import _document
from gatewall.api.fields import FIELDS, words_of

ACCESS = ("An API token needs the scope", "API tokens are refused", "Needs no credential")
METHODS = ("get", "post", "put", "delete")


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(_document()))


def operations(document):
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield f"{method} {path}", methods[method]


def fields(document):
    for name, schema in document["components"]["schemas"].items():
        for field, each in schema.get("properties", {}).items():
            yield name, field, each


def test_every_operation_has_a_summary_and_names_its_authorization(document):
    for name, operation in operations(document):
        assert operation["summary"].endswith("."), name
        assert operation["summary"][0].isupper(), name
        assert operation["description"].endswith("."), name
        assert any(word in operation["description"] for word in ("scope", "API tokens are refused", "no credential")), (
            name
        )


def test_descriptions_name_the_required_scope(document):
    for name, operation in operations(document):
        scopes = [scope for each in operation.get("security", []) for scope in each.get("apiToken", [])]
        for scope in scopes:
            assert f"`{scope}`" in operation["description"], name
        if not scopes:
            assert "`" not in operation["description"].splitlines()[-1], name


def test_every_field_is_described(document):
    missing = [f"{name}.{field}" for name, field, each in fields(document) if not each.get("description")]
    generated = [f"{name}.{field}" for name, field, each in fields(document) if "\n* `" in f"\n{each['description']}"]

    assert missing == []
    assert generated == []


def test_descriptions_are_sentences_for_readers_of_the_api(document):
    for name, field, each in fields(document):
        assert not each["description"].startswith("Return the "), f"{name}.{field}"


def test_examples_are_valid(document):
    for name, field, each in fields(document):
        for example in each.get("examples", []):
            whole = {**each, "components": document["components"]}
            errors = [error.message for error in Draft202012Validator(whole).iter_errors(example)]
            assert errors == [], f"{name}.{field}: {example}"


def test_every_field_description_is_used(document):
    used = {id(words_of(name, field)) for name, field, _ in fields(document)}

    assert [key for key, words in FIELDS.items() if id(words) not in used] == []
