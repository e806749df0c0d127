"""Help: the documentation on our own host, for operators only, with a link on every page of the console."""

import re

import pytest
from django.contrib import admin

from gatewall.api.content_policy import content_security_policy
from gatewall.console.help.documents import Documents
from gatewall.console.help.topics import TOPICS
from gatewall.console.shell import navigation
from tests.admin.test_pages import INLINE
from tests.docs.links import DOCS

pytestmark = pytest.mark.django_db
HELP = "/wall/help/"


def test_an_operator_reads_a_page_under_the_policy_of_the_console(pages):
    response = pages.client.get(f"{HELP}how-to/passkeys.md")
    html = response.content.decode()

    assert response.status_code == 200
    assert "<h1>Sign in with passkeys</h1>" in html
    assert '<h2 id="lines-to-copy">' in html
    assert not INLINE.findall(html)
    assert response["Content-Security-Policy"] == content_security_policy()


def test_every_topic_is_a_heading_of_a_page():
    targets = {heading.target for heading in Documents(DOCS).headings}

    assert set(TOPICS.values()) - targets == set()


def test_the_help_starts_at_the_index_and_folders_redirect_to_theirs(pages):
    assert "<h1>Documentation of Gatewall</h1>" in pages.client.get(HELP).content.decode()
    for path in ("adr", "how-to/"):
        response = pages.client.get(f"{HELP}{path}")
        assert (response.status_code, response["Location"]) == (302, f"{HELP}{path.rstrip('/')}/README.md")


def test_a_picture_is_served_with_its_media_type(pages):
    response = pages.client.get(f"{HELP}screenshots/sign-in.png")

    assert (response.status_code, response["Content-Type"]) == (200, "image/png")
    assert response["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["none.md", "none", "none.png", "openapi.json", "../settings.py", "%2e%2e/README.md"])
def test_unknown_help_pages_are_not_found(pages, path):
    assert pages.client.get(f"{HELP}{path}").status_code == 404


def test_only_admins_read_the_help(client, bob):
    for path in ("", "api.md", "screenshots/sign-in.png", "none.md"):
        assert client.get(f"{HELP}{path}").status_code == 302, path
    client.force_login(bob)
    assert client.get(f"{HELP}api.md").status_code == 302


def test_every_item_of_the_sidebar_has_a_topic_and_no_other():
    pages = {item.view for item in navigation._all_items() if isinstance(item, navigation.Page)}
    models = {model._meta.label_lower for model in admin.site._registry}

    assert set(TOPICS) == pages | models | {""}


def test_the_help_of_a_page_is_about_its_item(pages, bob):
    for path, topic in {
        "/log/": "operator.md#log",
        "/policies/wafrule/": "how-to/false-positive.md",
        f"/accounts/user/{bob.pk}/change/": "how-to/family-and-guests.md",
        "/search/?q=x": "README.md",
    }.items():
        link = re.search(r'<a class="help" href="([^"]+)"', pages.get(path).content.decode())
        assert link[1] == f"{HELP}{topic}", path


def test_the_search_finds_headings_of_the_documentation(pages):
    groups = {group.title: group for group in pages.get("/search/?q=shadow+policy").context["groups"]}

    assert (f"{HELP}operator.md#shadow-policy", "operator.md") in {
        (found.url, found.note) for found in groups["Help"].results
    }
