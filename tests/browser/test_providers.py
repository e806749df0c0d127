"""Sign in at an identity provider, through nginx: the provider's groups decide what a visitor reaches."""

import json

import pytest

from tests.browser.gallery import provider_visit
from tests.browser.test_every_page import checked
from tests.support.openid_provider import providing
from tests.support.processes import api, send

LOOKS = {
    "desktop": {"viewport": {"width": 1200, "height": 800}},
    "phone": {"viewport": {"width": 390, "height": 800}, "is_mobile": True, "color_scheme": "dark"},
    "without script": {"java_script_enabled": False},
}
THROUGH = "You are through"


@pytest.fixture(scope="module")
def corp(wall):
    """A provider whose employees are in a group that may enter the office, where rules keep others off the plans."""
    api(wall.control, "/groups", name="employees", authorized_domains=["office.gate.test"])
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
def test_a_group_of_the_provider_leads_to_the_site(wall, visit, corp, look):
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


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(LOOKS["desktop"], marks=pytest.mark.full),
        {**LOOKS["phone"], "viewport": {"width": 320, "height": 700}},
    ],
)
def test_every_page_on_the_way_is_for_everybody(wall, visit, corp, look):
    page = visit(**look)
    corp.subject, corp.claims["groups"] = f"sub-{look['viewport']['width']}", ["staff"]
    corp.claims["preferred_username"] = f"erin{look['viewport']['width']}"
    wrong = [problem for name in provider_visit(wall, page, corp) for problem in checked(page, name)]

    assert wrong == []
