"""The browsable API: an admin signs in with both factors, and lists, creates, changes and deletes rows."""

import json
import urllib.request

import pytest

from tests.support.processes import PASSWORD, PATIENCE
from tests.support.second_factor import App, secret_of


def call(wall, path, token="", **fields):
    request = urllib.request.Request(
        f"http://127.0.0.1:{wall.control}/wall{path}",
        data=json.dumps(fields).encode(),
        headers={"Content-Type": "application/json", "Service-Authorization": token},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 (loopback)
        return json.loads(answer.read())


@pytest.fixture
def admin(wall):
    """Return the name and the authenticator app of an admin."""
    name = wall.a_user(is_admin=True)
    session = call(wall, "/login", username=name, password=PASSWORD)
    own = f"/users/{session['user']['id']}/totp"
    app = App(secret_of(call(wall, f"{own}/setup", session["token"])["secret"]))
    call(wall, f"{own}/confirm", session["token"], code=app.code())
    return name, app


def send(page, method, text):
    page.locator("textarea[name=_content]:visible").fill(text)
    with page.expect_response(lambda answer: answer.request.method == method):
        page.click(f"form button:has-text('{method}')")


def shown(page, words):
    page.locator(".response-info", has_text=words).wait_for()
    return page.locator(".response-info").inner_text()


def test_an_admin_edits_rows_in_the_browsable_api(wall, visit, admin):
    page = visit(viewport={"width": 1200, "height": 900})
    name, app = admin
    page.goto(wall.page("/ip-black-list"))
    page.click("text=Sign in")
    page.fill("#id_username", name)
    page.fill("#id_password", PASSWORD)
    page.fill("#id_code", app.code(steps=1))
    page.click("[type=submit]")
    shown(page, "HTTP 200 OK")

    send(page, "POST", '{"ip": "203.0.113.300", "remark": "typed once"}')
    assert "not an IP address" in shown(page, "HTTP 400")
    assert "typed once" in page.locator("textarea[name=_content]").input_value()
    send(page, "POST", '{"ip": ')
    assert "not JSON" in shown(page, "not-json")
    send(page, "POST", '{"ip": "203.0.113.30", "remark": "typed once"}')
    made = json.loads("{" + shown(page, "HTTP 201").partition("{")[2])

    page.goto(wall.page(f"/ip-black-list/{made['id']}"))
    assert json.loads(page.locator("textarea[name=_content]").input_value())["ip"] == "203.0.113.30"
    send(page, "PUT", '{"remark": "changed"}')
    assert '"remark": "changed"' in shown(page, "HTTP 200 OK")
    page.click("button:has-text('DELETE')")
    page.click(".modal button:has-text('Delete')")
    shown(page, "HTTP 204")
    page.goto(wall.page(f"/ip-black-list/{made['id']}"))
    assert "not-found" in shown(page, "HTTP 404")

    page.click("text=Docs")
    page.click("#operations-tag-ip-black-list")
    page.locator("#operations-ip-black-list-ip_black_list_list").wait_for()
