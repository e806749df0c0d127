"""Sign in at an identity provider, through nginx: the provider's groups decide what a visitor reaches."""

import json
import urllib.request
from urllib.parse import urlencode

import pytest

from tests.browser.gallery import provider_visit
from tests.browser.test_every_page import checked
from tests.support.openid_provider import providing
from tests.support.processes import PATIENCE, api, send, wait_until

LOOKS = {
    "desktop": {"viewport": {"width": 1200, "height": 800}},
    "phone": {"viewport": {"width": 390, "height": 800}, "is_mobile": True, "color_scheme": "dark"},
    "without script": {"java_script_enabled": False},
}
THROUGH = "You are through"


@pytest.fixture(scope="module")
def corp(wall):
    """Set up a provider whose employees are in a group that may enter the office; a rule denies the plans to others."""
    api(wall.control, "/groups", name="employees", authorized_domains=["office.gate.test", "app.other.test"])
    plans = {"domains": ["office.gate.test"], "paths": [{"match": "prefix", "value": "/plans"}]}
    for name, access, values in (("theirs", "authenticated", {"groups": ["employees"]}), ("not yours", "denied", {})):
        api(wall.control, "/access-rules", name=name, access=access, **plans, **values)
    with providing() as provider:
        provider.claims["groups"] = ["staff"]
        known = provider.settings(create_users=True, group_map={"staff": ["employees"]})
        row = api(wall.control, "/identity-providers", **known)
        yield provider
        send(wall.control, wall.token, "DELETE", f"/identity-providers/{row['id']}", None)


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(look, id=name, marks=[pytest.mark.full] if name == "without script" else [])
        for name, look in LOOKS.items()
    ],
)
def test_a_group_of_the_provider_gives_access_to_the_site(wall, visit, corp, look):
    page = visit(**look)
    corp.subject = f"sub-{len(look)}-{json.dumps(look)[:20]}".replace(" ", "")
    corp.claims.update(preferred_username=f"dora{len(json.dumps(look))}", groups=["staff"])
    page.goto(wall.url("office", "/plans?year=2026"))
    assert len(page.content()) < 15_000
    page.click("text=Sign in with Corp")

    assert (page.url, page.locator("h1").inner_text()) == (wall.url("office", "/plans?year=2026"), THROUGH)
    page.context.clear_cookies()
    corp.claims["groups"] = []
    page.goto(wall.url("office", "/plans"))
    page.click("text=Sign in with Corp")
    assert page.locator("h1").inner_text() != THROUGH


def test_a_provider_sign_in_serves_two_parents_and_its_logout_ends_both(wall, visit, corp):
    page = visit()
    corp.subject, corp.claims["groups"], corp.sid = "sub-two-parents", ["staff"], "two-parents"
    corp.claims["preferred_username"] = "frida"
    page.goto(wall.at("app.other.test", "/x?y=1"))
    assert page.url.startswith(wall.page("/?rd="))
    page.click("text=Sign in with Corp")
    page.wait_for_url(wall.at("app.other.test", "/x?y=1"))
    held = {each["domain"] for each in page.context.cookies() if each["name"] == "service.token"}
    assert held == {".gate.test", ".other.test"}
    page.goto(wall.url("office"))
    assert page.url == wall.url("office")

    body = urlencode({"logout_token": corp.logout_token()}).encode()
    told = urllib.request.Request(f"http://127.0.0.1:{wall.control}/wall/oidc/corp/logout", data=body)
    urllib.request.urlopen(told, timeout=PATIENCE).close()  # noqa: S310 (loopback)

    for address in (wall.at("app.other.test"), wall.url("office")):

        def is_signed_out(address=address):
            page.goto(address)
            return page.url.startswith(wall.page("/?rd="))

        wait_until(is_signed_out, what=f"the end of the session at {address}")


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(LOOKS["desktop"], marks=pytest.mark.full),
        {**LOOKS["phone"], "viewport": {"width": 320, "height": 700}},
    ],
)
def test_every_page_on_the_way_is_accessible(wall, visit, corp, look):
    page = visit(**look)
    corp.subject, corp.claims["groups"] = f"sub-{look['viewport']['width']}", ["staff"]
    corp.claims["preferred_username"] = f"erin{look['viewport']['width']}"
    wrong = [problem for name in provider_visit(wall, page, corp) for problem in checked(page, name)]

    assert wrong == []
