"""Methods and media types: unsupported ones get the same error everywhere."""

import pytest
from django.test import Client

from gatewall.kernel.request_bodies import MAX_BODY, MAX_LARGE_BODY
from tests.api.routes import PERMISSIONS, ROUTES, path_of

pytestmark = pytest.mark.django_db
NAMES = sorted({name for name, _ in ROUTES})
OPEN = sorted({name for (name, _), who in PERMISSIONS.items() if who == "public"})
PAGES = {
    "/": "GET, HEAD, POST",
    "/sign-out": "POST",
    "/oidc/corp": "GET, HEAD",
    "/oidc/corp/callback": "GET, HEAD",
    "/oidc/corp/sign-out": "GET, HEAD",
}
NO_JSON = {"docs", "policy-document"}
TO_ALL = {"metrics"}  # for every Accept header of a scraper
NO_BODY = {"logout", "system-reload", "admin-recover-2fa"}  # admin-recover-2fa is refused before its body is read
LARGE = {"policy-plan-list", "policy-apply", "policy-document-compare", "policy-shadow"}


VERBS = ("GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW")


def verbs_of(name):
    return {verb for route, verb in ROUTES if route == name}


def test_an_unsupported_method_lists_the_allowed_ones(admin, alice):
    for name, verb in [(each, verb) for each in NAMES for verb in sorted(set(VERBS) - verbs_of(each))]:
        response = admin.send(verb, path_of(name, alice.pk), b"{}")

        assert (response.status_code, response.json()["code"]) == (405, "method-not-allowed"), (name, verb)
        allowed = set(response.headers["Allow"].split(", "))
        assert allowed - {"HEAD", "OPTIONS"} == verbs_of(name), (name, verb)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("verb", ["PUT", "DELETE", "PATCH"])
def test_pages_for_visitors_list_the_allowed_methods_too(path, verb):
    response = Client(enforce_csrf_checks=True).generic(verb, f"/wall{path}")

    assert (response.status_code, response.headers["Allow"].replace(", OPTIONS", "")) == (405, PAGES[path])


def test_head_is_answered_like_get(admin, alice):
    for name in NAMES:
        response = admin.send("HEAD", path_of(name, alice.pk))
        shown = admin.send("GET", path_of(name, alice.pk))

        assert (response.status_code, response.content) == (shown.status_code, b""), name
        assert {**response.headers}.keys() >= {"X-Request-Id", "Cache-Control"}, name


def test_options_lists_the_methods_and_reveals_no_row(admin, alice):
    for name in NAMES:
        response = admin.send("OPTIONS", path_of(name, alice.pk))

        assert response.status_code == 200, name
        if name not in NO_JSON:
            assert set(response.json()) == {"name", "methods"}, name
            assert verbs_of(name) <= set(response.json()["methods"]), name


def test_options_requires_authentication(anonymous, alice):
    for name in set(NAMES) - set(OPEN):
        assert anonymous.send("OPTIONS", path_of(name, alice.pk)).status_code == 401, name


def test_an_unsupported_accept_header_is_not_acceptable(admin, alice):
    for name in [name for name in NAMES if not name.startswith("health") and name not in TO_ALL]:
        for accept in ("application/xml", "image/png", "text/csv;q=1"):
            response = admin.send(min(verbs_of(name)), path_of(name, alice.pk), b"{}", headers={"Accept": accept})

            assert (response.status_code, response.json()["code"]) == (406, "not-acceptable"), (name, accept)


def test_a_body_that_is_not_json_is_not_read(admin, alice):
    for name in [name for name, verb in ROUTES if verb == "POST" and name not in NO_BODY]:
        for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x"):
            response = admin.send("POST", path_of(name, alice.pk), b"a=b", media_type)

            assert (response.status_code, response.json()["code"]) == (415, "unsupported-media-type"), (
                name,
                media_type,
            )


def test_a_body_over_the_limit_is_refused_everywhere(admin, alice):
    for name in NAMES:
        verb = min(verbs_of(name) - {"GET"} or {"GET"})

        most = MAX_LARGE_BODY if name in LARGE else MAX_BODY

        response = admin.send(verb, path_of(name, alice.pk), b" " * (most + 1))

        assert (response.status_code, response.json()["code"]) == (413, "body-too-large"), name
