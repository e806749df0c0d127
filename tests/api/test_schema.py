"""The OpenAPI document: valid, complete, committed, and consistent with real answers."""

import json
from collections import Counter
from functools import cache
from io import StringIO
from pathlib import Path

import jsonschema
import pytest
from django.core.management import call_command
from drf_spectacular.validation import validate_schema

from gatewall.api.codes import PROBLEM_CODES
from gatewall.api.resources import Resource
from gatewall.api.views import ApiView
from tests.api.resources import CHANGEABLE, KINDS, make
from tests.api.routes import PAGES, PERMISSIONS, patterns, verbs
from tests.api.test_scopes import SCOPES
from tests.support.proxies import PASSWORD, Api, a_token

COMMITTED = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"
ALL_KINDS = pytest.mark.parametrize("kind", KINDS, ids=str)


@cache
def document():
    out = StringIO()
    call_command("spectacular", format="openapi-json", fail_on_warn=True, stdout=out)
    return json.loads(out.getvalue())


def operations():
    return [(path, verb, each) for path, verbs_ in document()["paths"].items() for verb, each in verbs_.items()]


def resolved(part):
    while isinstance(part, dict) and "$ref" in part:
        name = part["$ref"].removeprefix("#/").split("/")
        part = document()
        for step in name:
            part = part[step]
    return part


def conforms(value, schema):
    """Validate a value against a schema of the document."""
    jsonschema.validate(
        value,
        {**schema, "components": document()["components"]},
        jsonschema.Draft202012Validator,
        format_checker=jsonschema.FormatChecker(),
    )


def answer_conforms(response, path, verb):
    """Validate an answer against its operation in the document: status, headers, body."""
    answer = resolved(document()["paths"][path][verb]["responses"][str(response.status_code)])
    assert {name for name in answer.get("headers", ()) if name not in response.headers} == set()
    for media_type, content in answer.get("content", {}).items():
        assert response.headers["Content-Type"].split(";")[0] == media_type
        conforms(response.json(), content["schema"])
    return response


def test_the_document_is_valid_openapi_3_1():
    assert document()["openapi"].startswith("3.1")
    validate_schema(document())


def test_every_schema_of_the_document_is_a_json_schema():
    for schema in document()["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_every_reference_can_be_resolved():
    def references(part):
        if isinstance(part, dict):
            yield from ([part] if "$ref" in part else [])
            part = list(part.values())
        for inner in part if isinstance(part, list) else ():
            yield from references(inner)

    assert all(resolved(each) for each in references(document()))


def test_the_committed_document_is_up_to_date():
    assert json.loads(COMMITTED.read_text()) == document(), (
        "run: gatewall spectacular --format openapi-json --file docs/openapi.json"
    )


def test_every_route_is_described():
    """Every method must be decorated with ``gatewall.api.operations.operation``."""
    served = {(pattern.name, verb) for pattern in patterns() if pattern.name not in PAGES for verb in verbs(pattern)}
    silent = {
        (pattern.name, verb)
        for pattern in patterns()
        if pattern.name not in PAGES
        for verb in verbs(pattern)
        if not is_described(pattern, verb.lower())
    }

    assert silent == set()
    assert len(operations()) == len(served)


def test_every_api_view_uses_the_base_view_and_is_rate_limited():
    views = {
        getattr(pattern.callback, "cls", None) or pattern.callback.view_class
        for pattern in patterns()
        if pattern.name not in PAGES
    }

    assert {view.__name__ for view in views if not issubclass(view, ApiView)} == set()
    assert {view.__name__ for view in views if not view.is_rate_limited} == {"Live", "Ready"}


def is_described(pattern, verb):
    actions = getattr(pattern.callback, "actions", None)
    view = getattr(pattern.callback, "cls", None) or pattern.callback.view_class
    method = getattr(view, actions[verb] if actions else verb)
    return hasattr(method, "operation") or (issubclass(view, Resource) and hasattr(Resource, actions[verb]))


def test_an_undescribed_route_is_detected(monkeypatch):
    from gatewall.publication.reload_view import Reload  # noqa: PLC0415

    monkeypatch.delattr(Reload.post, "operation")
    silent = [pattern for pattern in patterns() if pattern.name == "system-reload"]

    assert not is_described(silent[0], "post")


def test_every_operation_has_a_unique_id_and_a_one_line_summary():
    ids = [each["operationId"] for _, _, each in operations()]

    assert len(set(ids)) == len(ids)
    assert all(each["summary"].endswith(".") and "\n" not in each["summary"] for _, _, each in operations())


def test_the_document_states_the_security_of_each_operation():
    public = {each["operationId"] for _, _, each in operations() if "security" not in each}

    assert len(public) == len([1 for who in PERMISSIONS.values() if who == "public"])
    assert all("401" in each["responses"] for _, _, each in operations() if "security" in each)
    schemes = document()["components"]["securitySchemes"]
    assert {(each.get("in", "header"), each.get("name", "Authorization")) for each in schemes.values()} == {
        ("header", "Service-Authorization"),
        ("cookie", "service.token"),
        ("cookie", "gatewall.admin"),
        ("header", "Authorization"),
    }


def test_the_document_names_the_scope_of_every_operation():
    named = [
        scope for _, _, each in operations() for way in each.get("security", ()) for scope in way.get("apiToken", ())
    ]

    assert Counter(named) == {scope: len(routes) for scope, routes in SCOPES.items()}


def test_every_operation_names_the_problems_that_all_give():
    for path, _verb, each in operations():
        health = path.startswith("/health")
        assert {"400", "406", "500"} | (set() if health else {"429"}) <= set(each["responses"]), path
        for status, answer in each["responses"].items():
            if int(status) >= 400 and not health:
                problem = resolved(resolved(answer)["content"]["application/problem+json"]["schema"])
                assert problem["allOf"][1]["properties"]["status"]["enum"] == [int(status)]


def test_problems_have_a_code_of_the_closed_list():
    assert set(document()["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]) == PROBLEM_CODES


UUIDS = {"jti", "decision_id"}
NAMES = {"name"}


def test_ids_in_paths_are_integers_or_uuids():
    for path, _, each in operations():
        named = {parameter["name"]: parameter for parameter in each.get("parameters", ()) if parameter["in"] == "path"}
        assert all(f"{{{name}}}" in path for name in named)
        assert path.count("{") == len(named)
        assert all(named[name]["schema"].get("format") == "uuid" for name in UUIDS & set(named))
        assert {each["schema"]["type"] for name, each in named.items() if name not in UUIDS | NAMES} <= {"integer"}


def test_request_bodies_allow_no_additional_properties():
    bodies = [
        each["requestBody"]["content"]["application/json"]["schema"]
        for _, _, each in operations()
        if "requestBody" in each
    ]

    assert len(bodies) > 10
    assert all(resolved(body)["additionalProperties"] is False for body in bodies)


@pytest.mark.django_db
@ALL_KINDS
def test_answers_of_resources_conform_to_the_document(admin, kind):
    body = kind.body(0)
    conforms(body, document()["paths"][kind.path]["post"]["requestBody"]["content"]["application/json"]["schema"])
    made = answer_conforms(admin.post(kind.path, body), kind.path, "post").json()
    path, template = f"{kind.path}/{made['id']}", f"{kind.path}/{{id}}"

    shown = answer_conforms(admin.get(path), template, "get")
    answer_conforms(admin.get(path, headers={"If-None-Match": shown.headers["ETag"]}), template, "get")
    answer_conforms(admin.get(kind.path), kind.path, "get")
    answer_conforms(admin.get(kind.path, {"all": "true"}), kind.path, "get")
    for client, parameters, there in [(Api(), {}, kind.path), (admin, {"page": "x"}, kind.path), (admin, {}, None)]:
        response = client.get(there or f"{kind.path}/999999", parameters)
        answer_conforms(response, there or template, "get")
    answer_conforms(admin.post(kind.path, body), kind.path, "post")  # a duplicate
    answer_conforms(admin.post(kind.path, {"colour": 1}), kind.path, "post")
    answer_conforms(admin.send("POST", kind.path, b"a", "text/plain"), kind.path, "post")
    answer_conforms(admin.delete(path, headers={"If-Match": '"x"'}), template, "delete")
    answer_conforms(admin.delete(path), template, "delete")


@pytest.mark.django_db
@pytest.mark.parametrize("kind", CHANGEABLE, ids=str)
def test_a_row_may_be_sent_back_by_the_document_too(admin, kind):
    path, template = f"{kind.path}/{make(admin, kind)[0]['id']}", f"{kind.path}/{{id}}"
    shown = admin.get(path)
    schema = document()["paths"][template]["put"]["requestBody"]["content"]["application/json"]["schema"]

    conforms(shown.json(), schema)
    conforms(kind.change, schema)
    answer_conforms(admin.put(path, {**shown.json(), **kind.change}), template, "put")
    answer_conforms(admin.put(path, {}, headers={"If-Match": shown.headers["ETag"]}), template, "put")
    with pytest.raises(jsonschema.ValidationError):
        conforms({"colour": "red"}, schema)


@pytest.mark.django_db
@ALL_KINDS
def test_the_parameters_of_a_list_are_those_that_it_takes(admin, kind):
    described = document()["paths"][kind.path]["get"]["parameters"]
    for each in described:
        known = admin.get(kind.path, {each["name"]: "\x01 never valid"})
        codes = {error["code"] for error in known.json().get("errors", ())} if known.status_code == 400 else set()
        assert "unknown-parameter" not in codes
    every = next(each for each in described if each["name"] == "ordering")["schema"]["enum"]

    assert {admin.get(kind.path, {"ordering": ordering}).status_code for ordering in every} == {200}
    assert set(kind.orderings) == {name for name in every if not name.startswith("-")}


@pytest.mark.django_db
def test_answers_of_other_operations_conform_to_the_document(admin, alice):
    login = {"username": "alice", "password": PASSWORD}
    for path in ("/login", "/admin-login"):
        answer_conforms(Api().post(path, login), path, "post")
        answer_conforms(Api().post(path, {**login, "password": "wrong"}), path, "post")
        answer_conforms(Api(**{"Sec-Fetch-Site": "cross-site"}).post(path, login), path, "post")
    answer_conforms(admin.get("/session"), "/session", "get")
    answer_conforms(admin.get("/system/settings"), "/system/settings", "get")
    answer_conforms(admin.put("/system/settings", {"waf_threshold": 4}), "/system/settings", "put")
    stale = admin.put("/system/settings", {}, headers={"If-Match": '"x"'})
    answer_conforms(stale, "/system/settings", "put")
    answer_conforms(admin.post("/system/reload"), "/system/reload", "post")
    for path in ("/health", "/health/live", "/health/ready"):
        answer_conforms(Api().get(path), path, "get")
    answer_conforms(admin.get("/schema"), "/schema", "get")
    answer_conforms(Api(a_token(alice)).post("/logout"), "/logout", "post")
    tokens = f"/users/{alice.pk}/git-tokens"
    answer_conforms(admin.post(tokens, {"name": "laptop"}), "/users/{user_id}/git-tokens", "post")
    answer_conforms(admin.get(tokens), "/users/{user_id}/git-tokens", "get")


@pytest.mark.django_db
def test_the_document_is_served_as_json_and_as_yaml(admin):
    served = admin.get("/schema")
    foreign = admin.get("/schema", headers={"Accept-Language": "zh-hans"})
    yaml = admin.get("/schema", headers={"Accept": "application/yaml, application/vnd.oai.openapi"})

    assert served.headers["Content-Type"] == "application/json"
    assert served.json() == foreign.json() == document()
    assert yaml.headers["Content-Type"].startswith(("application/yaml", "application/vnd.oai.openapi"))
    assert yaml.content.startswith(b"openapi: 3.1")


@pytest.mark.django_db
def test_the_page_of_the_document_comes_with_its_scripts_from_here(admin):
    text = admin.get("/docs").content.decode()
    sources = [part.partition('"')[0] for name in ("src", "href") for part in text.split(f' {name}="')[1:]]

    assert len(sources) == 5
    for path in sources:
        response = admin._client.get(path)
        assert response.status_code == 200, path
        response.close()
