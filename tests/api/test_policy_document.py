"""The policy document over HTTP: exported now or as of a revision, its schema, and the errors of an invalid one."""

import json

import pytest
from jsonschema import Draft202012Validator

from gatewall.policy import revisions
from policies import services
from policies.document.applying import apply
from policies.document.export import export
from policies.document.parsing import parse
from policies.document.reading import read
from tests.support.proxies import Api, a_token, a_user, an_api_token, with_api_token

pytestmark = pytest.mark.django_db


def test_the_document_is_yaml_unless_json_is_requested(admin, office):
    text, values = admin.get("/policy/document"), admin.get("/policy/document", HTTP_ACCEPT="application/json")

    assert (text.status_code, text.headers["Content-Type"]) == (200, "application/yaml")
    assert text.content == export().canonical()
    assert values.headers["Content-Type"] == "application/json"
    assert values.json() == parse(text.content)[0]
    assert {"name": office.name} in values.json()["domains"]
    assert "Accept" in text.headers["Vary"]


def test_another_media_type_than_yaml_and_json_is_refused(admin):
    answer = admin.get("/policy/document", HTTP_ACCEPT="text/html")

    assert (answer.status_code, answer.json()["code"]) == (406, "not-acceptable")


@pytest.mark.parametrize("accept", ["application/yaml", "application/json"])
def test_the_etag_changes_with_the_policy_and_the_format(admin, office, accept):
    first = admin.get("/policy/document", HTTP_ACCEPT=accept)
    tag = first.headers["ETag"]
    same = admin.get("/policy/document", HTTP_ACCEPT=accept, HTTP_IF_NONE_MATCH=tag)
    services.change_domain(office, actor="x", remark="moved")
    later = admin.get("/policy/document", HTTP_ACCEPT=accept, HTTP_IF_NONE_MATCH=tag)

    assert (same.status_code, same.content, same.headers["ETag"]) == (304, b"", tag)
    assert later.status_code == 200
    assert later.headers["ETag"] != tag
    assert (
        admin.get("/policy/document", HTTP_ACCEPT="*/*").headers["ETag"]
        != (admin.get("/policy/document", HTTP_ACCEPT="application/json").headers["ETag"])
    )


def test_the_document_of_an_earlier_revision_is_unchanged(admin, office):
    number, then = revisions.current().revision, export().canonical()
    services.change_domain(office, actor="x", access="denied")
    services.block_network(actor="x", network="203.0.113.9")
    now = admin.get("/policy/document")

    assert admin.get(f"/policy/document?revision={number}").content == then
    assert admin.get(f"/policy/document?revision={number + 2}").content == now.content != then
    assert admin.get("/policy/document").content == now.content


def test_the_document_of_a_revision_has_its_expectations(admin, office):

    expect = {"name": "closed", "request": {"client": "203.0.113.1", "host": "a.example"}, "effect": "deny"}
    apply(read(json.dumps({"version": 1, "expect": [expect]}).encode()), actor="x")
    number, then = revisions.current().revision, export().canonical()
    apply(read(b"version: 1\nexpect: []\n"), actor="x")

    assert admin.get(f"/policy/document?revision={number}").content == then != export().canonical()


@pytest.mark.parametrize(
    ("query", "status"), [("revision=999999", 404), ("revision=0", 400), ("revision=x", 400), ("at=1", 400)]
)
def test_a_revision_that_is_not_kept_is_refused(admin, office, query, status):
    answer = admin.get(f"/policy/document?{query}")

    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_auditors_and_tokens_that_read_policy_may_read_both(admin, alice):

    readers = (
        Api(a_token(a_user("eve", is_auditor=True))),
        with_api_token(an_api_token(alice, "policy:read")),
    )
    for reader in readers:
        assert reader.get("/policy/document").content == export().canonical()
        assert reader.get("/policy/schema").status_code == 200
    other = with_api_token(an_api_token(alice, "logs:read", name="logs"))
    assert other.get("/policy/document").json()["code"] == "scope-missing"


def test_the_exported_document_is_valid_by_the_served_schema(admin, office):
    schema = admin.get("/policy/schema")

    assert schema.headers["ETag"]
    Draft202012Validator.check_schema(schema.json())
    values = admin.get("/policy/document", HTTP_ACCEPT="application/json").json()
    assert list(Draft202012Validator(schema.json()).iter_errors(values)) == []


def test_every_error_of_a_document_has_its_place(admin):
    document = "version: 1\ndomains:\n- name: a.example\n  access: open\n- nam: b.example\ngroups: 7\n"

    problem = admin.put("/policy/shadow", {"document": document, "percent": 10}).json()

    assert (problem["status"], problem["code"]) == (400, "document-refused")
    places = [(each["line"], each["column"], each["pointer"]) for each in problem["errors"]]
    assert places == [
        (4, 11, "/domains/0/access"),
        (5, 3, "/domains/1/name"),
        (5, 3, "/domains/1/nam"),
        (6, 9, "/groups"),
    ]
    assert all(each["message"] and each["code"] == "document-refused" for each in problem["errors"])


def test_a_document_is_compared_with_the_policy_in_force(admin, alice, office):
    document = {"version": 1, "domains": [{"name": office.name, "access": "denied"}], "settings": {"contact": "alice"}}
    before = export()

    for caller in (admin, with_api_token(an_api_token(alice, "policy:read"))):
        body = caller.post("/policy/document/compare", {"document": document}).json()

        assert body["revision"] == revisions.current().revision
        assert {
            "section": "domains",
            "key": office.name,
            "action": "changed",
            "before": {"access": "authenticated"},
            "after": {"access": "denied"},
        } in body["changes"]
        assert {each["section"] for each in body["changes"]} == {"domains", "settings"}
    assert export() == before
    same = {"document": before.canonical().decode()}
    assert admin.post("/policy/document/compare", same).json()["changes"] == []
    assert admin.post("/policy/document/compare", {"document": "- a"}).json()["code"] == "document-refused"


@pytest.mark.parametrize(
    "character", ["\x7f", "\x80", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "\U0001fffe"]
)
def test_a_json_export_with_any_character_can_be_applied(admin, character):
    document = {"version": 1, "groups": [{"name": "staff", "description": f"a {character} b"}]}
    assert admin.post("/policy/apply", {"document": document, "if_revision": 0}).status_code == 200

    exported = admin.get("/policy/document", HTTP_ACCEPT="application/json")

    assert exported.json()["groups"] == document["groups"]
    for form in (exported.json(), exported.content.decode()):
        assert admin.post("/policy/document/compare", {"document": form}).json()["changes"] == []
