"""Every page of the console's sidebar, and the lists and forms of its models, are accessible."""

import pytest

from gatewall.console.shell.navigation import registered
from tests.browser.operator_screenshots import PAGES
from tests.browser.operators import enter
from tests.browser.test_every_page import LOOKS, checked
from tests.support.processes import send

LISTS = [f"/{label.replace('.', '/')}/" for label in registered()]
FORMS = [f"{path}add/" for path in LISTS]


@pytest.mark.full
@pytest.mark.parametrize("look", LOOKS)
def test_every_page_list_and_form_is_accessible(wall, visit, look):
    scheme, width = LOOKS[look]
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    enter(wall, page)
    wrong, seen = [], 0
    for path in sorted({*PAGES.values(), *LISTS, *FORMS}):
        answer = page.goto(wall.page(f"/admin{path}"))
        if answer.status == 403:  # these rows cannot be added here
            assert path in FORMS
            continue
        seen += 1
        # Django's own boxes are too small.
        wrong += [each for each in checked(page, path) if "too small" not in each]

    assert wrong == []
    assert seen > 50


def test_the_sign_in_page_is_accessible(wall, visit):
    page = visit(color_scheme="dark", viewport={"width": 320, "height": 700})
    page.goto(wall.page("/admin/"))

    assert checked(page, "sign in") == []
    assert page.get_by_role("heading").all_inner_texts() == ["Sign in"]


def test_the_deletion_page_is_accessible(wall, visit):
    # The check treats a link as inline if it is shorter than its text.
    group = send(wall.control, wall.token, "POST", "/groups", {"name": "left"})
    page = visit(color_scheme="dark", viewport={"width": 320, "height": 700})
    enter(wall, page, f"/policies/group/{group['id']}/delete/")

    assert checked(page, "delete") == []


def test_a_list_that_is_too_large_to_upload_is_refused_on_the_page(wall, visit):
    page = visit(color_scheme="dark", viewport={"width": 320, "height": 700})
    enter(wall, page, "/import/")
    page.fill("#list-name", "drop")
    page.set_input_files("#file", {"name": "drop.txt", "mimeType": "text/plain", "buffer": b"192.0.2.1\n" * 300_000})
    page.click("text=Show what it would do")
    page.wait_for_selector("text=At most 1 MiB can be sent to this page.")

    assert checked(page, "too large") == []


@pytest.mark.full
@pytest.mark.parametrize("look", LOOKS)
def test_the_api_reference_and_browsable_pages_are_accessible(wall, visit, look):
    scheme, width = LOOKS[look]
    page = visit(color_scheme=scheme, viewport={"width": width, "height": 700})
    enter(wall, page)
    wrong = []
    for path in ("/docs", "/ip-black-list", "/system/settings"):
        page.goto(wall.page(path))
        page.wait_for_load_state("networkidle")
        wrong += [each for each in checked(page, path) if "too small" not in each]

    assert wrong == []
