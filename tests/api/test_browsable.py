"""The browsable API: the admin site's session, the content security policy, and the CSRF token."""

import html
import json
import re

import pytest
from django.test import Client

from tests.api.resources import KINDS, make
from tests.support.proxies import Api, a_token, enter_admin_site

pytestmark = pytest.mark.django_db
HTML = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
INLINE = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)|<style|\son[a-z]+=|javascript:")


@pytest.fixture
def browser(alice):
    """Return the browser of an admin who is signed in at the admin site."""
    client = Client(enforce_csrf_checks=True, headers=HTML)
    enter_admin_site(client, alice)
    return client


def page(browser, path):
    response = browser.get(f"/wall{path}")
    assert response.headers["Content-Type"].startswith("text/html")
    return response, response.content.decode()


@pytest.mark.parametrize("path", ["/users", "/system/settings", "/waf-rules", "/users/0", "/docs"])
def test_pages_comply_with_their_content_security_policy(browser, path):
    response, text = page(browser, path)

    policy = response.headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "connect-src 'self'" in policy
    assert not INLINE.search(text)
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', text.replace("http://testserver", ""))


@pytest.mark.parametrize("accepted", ["en", "zh-CN"])  # the API answers in English for every language
def test_a_page_has_a_language_one_main_landmark_and_keyboard_scrolling(browser, accepted):
    text = browser.get("/wall/system/settings", headers={**HTML, "Accept-Language": accepted}).content.decode()

    assert '<html lang="en">' in text
    assert text.count('role="main"') == 1
    assert '<nav aria-label="Breadcrumbs">' in text
    assert not re.findall(r'<pre class="prettyprint">', text)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_form_of_a_page_creates_a_row(browser, kind):
    _, text = page(browser, kind.path)
    settings = json.loads(re.search(r'id="drf_csrf">(.*?)</script>', text, re.DOTALL)[1])
    required = re.search(r'data-override="content"[^>]*>|<textarea[^>]*>(.*?)</textarea>', text, re.DOTALL)[0]

    response = browser.post(
        f"/wall{kind.path}",
        json.dumps(kind.body(0)),
        content_type="application/json",
        headers={settings["csrfHeaderName"]: settings["csrfToken"], "Accept": "text/html; q=1.0, */*"},
    )

    assert required
    assert response.status_code == 201, response.content
    assert response.headers["Content-Type"].startswith("text/html")


def test_the_form_for_a_change_is_prefilled_with_the_row(browser, alice):
    path = f"/ip-black-list/{make(Api(a_token(alice)), KINDS[1])[0]['id']}"
    _, text = page(browser, path)

    assert "&quot;ip&quot;: &quot;203.0.113.0&quot;" in text
    assert "&quot;source&quot;: &quot;manual&quot;" not in text.partition("<form")[2].partition("<textarea")[2]


def test_a_form_without_the_token_is_refused_with_a_page(browser):
    response = browser.post("/wall/ip-black-list", "{}", content_type="application/json")

    assert response.status_code == 403
    assert response.headers["Content-Type"].startswith("text/html")
    assert "not-allowed" in response.content.decode()


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [("/users/999999", 404, "not-found"), ("/users?page=x", 400, "invalid"), ("/users?page=9", 404, "not-found")],
)
def test_a_problem_is_shown_as_a_page(browser, path, status, code):
    response, text = page(browser, path)

    assert response.status_code == status
    assert code in text


def test_an_anonymous_visitor_gets_a_page_without_rows(alice):
    response = Client(headers=HTML).get("/wall/users")

    assert response.status_code == 401
    assert "alice" not in response.content.decode()


def test_a_page_escapes_values_of_rows(browser, alice):
    Api(a_token(alice)).post("/ip-black-list", {"ip": "203.0.113.1", "remark": "<script>alert(1)</script>"})

    _, text = page(browser, "/ip-black-list")

    assert "<script>alert" not in text


def begin_of_form(text):
    """Return the initial content of the JSON form."""
    return json.loads(html.unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", text, re.DOTALL)[1]))


def test_a_refused_form_keeps_its_values_except_the_password(browser):
    _, text = page(browser, "/users")
    token = json.loads(re.search(r'id="drf_csrf">(.*?)</script>', text, re.DOTALL)[1])["csrfToken"]

    response = browser.post(
        "/wall/users",
        json.dumps({"username": "no spaces", "password": "hidden words", "remark": "new"}),
        content_type="application/json",
        headers={"X-CSRFToken": token},
    )

    assert response.status_code == 400
    text = response.content.decode()
    assert begin_of_form(text) == {"username": "no spaces", "remark": "new"}
    assert "hidden words" not in text


@pytest.mark.parametrize(("body", "media_type"), [("{", "application/json"), ("a=b", "text/plain"), ("[]", None)])
def test_a_body_that_is_not_an_object_leaves_the_form_unchanged(browser, body, media_type):
    _, text = page(browser, "/ip-black-list")
    token = json.loads(re.search(r'id="drf_csrf">(.*?)</script>', text, re.DOTALL)[1])["csrfToken"]

    response = browser.post(
        "/wall/ip-black-list",
        body,
        content_type=media_type or "application/json",
        headers={"X-CSRFToken": token},
    )

    assert response.status_code in {400, 415}
    assert begin_of_form(response.content.decode()) == {"ip": ""}


def test_the_forms_of_settings_and_of_calls_begin_with_their_fields(browser):
    _, settings = page(browser, "/system/settings")
    _, explain = page(browser, "/policy/explain")

    assert begin_of_form(settings)["waf_threshold"] == 5
    assert begin_of_form(explain) == {"client_ip": "", "host": "", "method": "", "uri": ""}


def test_pages_link_to_all_resources_or_to_the_sign_in(browser):
    _, text = page(browser, "/users")
    stranger = Client(headers=HTML).get("/wall/users?page=2").content.decode()

    for kind in KINDS:
        assert f'href="/wall{kind.path}"' in text
    assert 'href="/wall/admin/login/?next=/wall/users%3Fpage%3D2"' in stranger
    assert 'href="/wall/waf-rules"' not in stranger
