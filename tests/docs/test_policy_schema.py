"""docs/policy.schema.json is the schema of this release, and agrees with the reader of documents."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

from policies.document.parsing import parse
from policies.document.schema import schema
from tests.generated_docs import DOCS, POLICY_SCHEMA, policy_schema
from tests.integration.test_policy_document import WHOLE
from tests.support.policy_documents import documents

pytestmark = pytest.mark.django_db


def errors(values):
    return [f"{each.json_path}: {each.message}" for each in Draft202012Validator(schema()).iter_errors(values)]


def test_the_committed_schema_is_that_of_this_release():
    assert (DOCS / POLICY_SCHEMA).read_text() == policy_schema(), "python -m tests.generated_docs"


def test_the_schema_is_valid_json_schema():
    Draft202012Validator.check_schema(schema())
    assert json.loads(policy_schema()) == schema()


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(values=documents())
def test_another_validator_accepts_documents_that_the_reader_accepts(values):
    assert errors(values) == []


def test_the_schema_accepts_a_document_with_every_section():
    assert errors(parse(WHOLE)[0]) == []


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({}, "$"),
        ({"version": 2}, "$.version"),
        ({"version": 1, "domain": []}, "$"),
        ({"version": 1, "domains": {}}, "$.domains"),
        ({"version": 1, "domains": [{"access": "public"}]}, "$.domains[0]"),
        ({"version": 1, "domains": [{"name": "a.example", "access": "open"}]}, "$.domains[0].access"),
        ({"version": 1, "settings": {"waf_threshold": 101}}, "$.settings.waf_threshold"),
        (
            {"version": 1, "access_rules": [{"name": "a", "access": "denied", "paths": [{"value": 1}]}]},
            "$.access_rules[0].paths[0].value",
        ),
        (
            {"version": 1, "expect": [{"name": "a", "effect": "allow", "request": {"host": "a.example"}}]},
            "$.expect[0].request",
        ),
    ],
)
def test_the_schema_refuses_documents_that_the_reader_refuses(values, place):
    found = list(Draft202012Validator(schema()).iter_errors(values))

    assert place in {each.json_path for each in found}
