"""The doctor examines three proxies: a correct one, one with forgeable headers, and one that asks no gate."""

from types import SimpleNamespace

import pytest

from tests.browser.installation import sign_in
from tests.browser.operators import go_by_sidebar
from tests.browser.test_every_page import EACH_LOOK, LOOKS, checked
from tests.proxies.changed import BELIEVING, FORWARDING, KEPT, MUTE, changed_nginx
from tests.support.processes import PASSWORD
from tests.support.upstream import Upstream

PASSED_THROUGH = (FORWARDING, "X-Forwarded-Host $gatewall_host;", "X-Forwarded-Host $doctors_host;")


def enter(wall, page):
    """Sign in at the guard page and open the doctor."""
    page.goto(wall.page("/"))
    sign_in(page, "admin")
    page.get_by_role("link", name="Administration").click()
    page.fill("#password", PASSWORD)
    page.get_by_role("button", name="Open the administration").click()
    page.wait_for_selector("#user-tools")
    go_by_sidebar(page, "System", "Proxy doctor")


def examine(page, site, proxy="nginx"):
    page.fill("#doctor-url", site)
    page.select_option("#doctor-proxy", proxy)
    with page.expect_navigation():
        page.get_by_role("button", name="Examine").click()


def verdicts(page):
    """Return the verdict of each check by its title."""
    found = {}
    for check in page.locator("details.check").all():
        word, title = check.locator("summary .verdict").inner_text(), check.locator("summary").inner_text()
        found[title.removeprefix(word).strip()] = word
    return found


def test_the_first_run_finds_a_correct_proxy(wall, visit):
    page = visit(java_script_enabled=False)
    enter(wall, page)
    assert page.locator("h1").first.inner_text() == "Proxy doctor"
    assert "trusted proxy" in page.locator("section[aria-labelledby=this-request]").inner_text()

    examine(page, f"http://127.0.0.1:{wall.port}/")

    found = verdicts(page)
    assert set(found.values()) == {"right", "cannot be seen from here"}, found
    assert found["Identity headers"] == "cannot be seen from here"


def broken(wall, folder, *changes):
    """Return an nginx with these mistakes before the same Gatewall."""
    site = Upstream()
    behind = SimpleNamespace(auth=wall.control, control=wall.control, site_port=site.port)
    return site, changed_nginx(folder, behind, [BELIEVING, *changes])


def test_the_doctor_shows_the_fix_for_a_forgeable_proxy(wall, page, tmp_path):
    site, proxy = broken(wall, tmp_path, PASSED_THROUGH, KEPT)
    enter(wall, page)
    with site, proxy as port:
        examine(page, f"http://127.0.0.1:{port}/")

        found = verdicts(page)
        assert {title for title, word in found.items() if word == "wrong"} == {"Client address", "Host and scheme"}
        text = page.locator("details.check.wrong").first.inner_text()
        assert "X-Forwarded-For from a visitor is trusted: the gate saw 203.0.113.11." in text
        assert "proxy_set_header X-Forwarded-For $remote_addr;" in text


def test_the_doctor_reports_that_requests_bypass_a_proxy(wall, page, tmp_path):
    site, proxy = broken(wall, tmp_path, MUTE)
    enter(wall, page)
    with site, proxy as port:
        examine(page, f"http://127.0.0.1:{port}/")

        assert verdicts(page)["The gate is asked"] == "wrong"
        assert "the proxy did not ask the gate: requests bypass it" in page.locator("details.check").first.inner_text()
        assert len(site.requests) == 1


@pytest.mark.parametrize("name", EACH_LOOK)
def test_the_page_is_accessible(wall, visit, tmp_path, name):
    scheme, width = LOOKS[name]
    look = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    site, proxy = broken(wall, tmp_path, PASSED_THROUGH, KEPT)
    enter(wall, look)
    wrong = checked(look, "doctor")
    look.goto(wall.page("/admin/doctor/?proxy=caddy"))
    for summary in look.locator("section[aria-labelledby=sample] summary").all():
        summary.click()
    wrong += checked(look, "doctor with a sample")
    look.goto(wall.page("/admin/doctor/"))
    examine(look, "http://elsewhere.example/")
    wrong += checked(look, "doctor that refuses")
    with site, proxy as port:
        examine(look, f"http://127.0.0.1:{port}/")
        wrong += checked(look, "doctor with a report")

    assert wrong == []
