"""The admin and operator pages as an auditor sees them: they read everything but secrets, and change nothing."""

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session as BrowserSession
from django.test import Client
from django.urls import get_resolver

from accounts.models import User
from gatewall.models import PolicyRevision
from tests.admin.conftest import ADMIN, Pages
from tests.admin.test_pages import paths, rows
from tests.support.proxies import PASSWORD, a_user, enter_admin_site

__all__ = ["rows"]
pytestmark = pytest.mark.django_db
CONSOLE = (
    *("dashboard", "log", "explain", "who-can-enter", "backtest", "blast-radius", "history", "import"),
    *("first-site", "doctor", "suggested-rules", "shadow", "plan", "app-profiles", "search", "access-requests"),
    *("site", "hosts", "backup"),
)
WRITES = {"add", "delete"}


@pytest.fixture
def auditor(db):
    """Return the pages as an auditor, without CSRF checks."""
    client = Client()
    enter_admin_site(client, a_user("eve", is_auditor=True))
    return Pages(client)


def everything():
    """Return all rows of all tables, except those that a sign-in or a page view writes."""
    left_out = {BrowserSession._meta.label, "accounts.Session"}
    kinds = [model for model in apps.get_models() if model._meta.label not in left_out]
    return {model._meta.label: sorted(map(str, model.objects.values_list())) for model in kinds}


def test_an_auditor_reads_every_page_and_changes_nothing(auditor, rows):
    kinds, secrets = rows
    before = everything()
    for path in [*paths(kinds), *(f"/{name}/" for name in CONSOLE)]:
        part = path.rstrip("/").rpartition("/")[2]
        if path == "/logout/":
            continue
        shown = auditor.get(path)
        assert shown.status_code in ({403} if part in WRITES else {200, 302}), path
        assert not [secret for secret in secrets if secret in shown.content.decode()], path
        if path.strip("/") not in {"explain", "backtest", "plan"}:
            assert auditor.client.post(f"{ADMIN}{path}").status_code == 403, path

    assert everything() == before


def test_pages_that_post_to_read_are_open(auditor, rows):
    made_up = {"client_ip": "192.0.2.1", "host": "office.example", "method": "GET", "uri": "/", "scheme": "https"}

    assert auditor.client.post(f"{ADMIN}/explain/", made_up).status_code == 200
    assert auditor.client.post(f"{ADMIN}/backtest/", {"kind": "ip-black-list"}).status_code == 400


def test_pages_are_marked_as_read_only(auditor, pages):
    words = "You read these pages as an auditor"

    assert words in auditor.get("/").content.decode()
    assert words not in pages.get("/").content.decode()


def test_the_url_of_a_webhook_is_shown_without_its_path(auditor, pages, rows):
    kinds, _ = rows
    (webhook,) = [row for row in kinds if row._meta.model_name == "webhook"]
    type(webhook).objects.update(url="https://receiver.example/secret-path")

    for path in ("/webhooks/webhook/", f"/webhooks/webhook/{webhook.pk}/change/", "/webhooks/webhook/?q=secret"):
        assert "secret-path" not in auditor.get(path).content.decode(), path
        assert "secret-path" in pages.get(path).content.decode(), path
    made = PolicyRevision.objects.filter(resources__contains=" webhooks ").latest("number")
    PolicyRevision.objects.filter(pk=made.pk).update(
        changes=[{**made.changes[0], "after": {"url": "https://receiver.example/secret-path"}}]
    )
    assert "secret-path" not in auditor.get(f"/history/{made.number}/").content.decode()
    assert "secret-path" in pages.get(f"/history/{made.number}/").content.decode()
    assert auditor.get("/webhooks/webhook/?url__contains=secret").status_code in {302, 400}


def test_an_auditor_signs_in_and_out(client, db):
    a_user("eve", is_auditor=True)
    form = {"username": "eve", "password": PASSWORD, "next": f"{ADMIN}/"}

    assert client.post(f"{ADMIN}/login/", form).status_code == 302
    assert client.get(f"{ADMIN}/").status_code == 200
    assert client.post(f"{ADMIN}/logout/").status_code == 200
    assert client.get(f"{ADMIN}/").status_code == 302


def test_a_former_auditor_sees_no_page(auditor):
    User.objects.update(is_auditor=False)

    assert auditor.get("/").status_code == 302


def test_the_tests_cover_every_operator_page():
    (console,) = [part for part in walk(get_resolver()) if getattr(part, "app_name", "") == "console"]
    named = {str(each.pattern).partition("/")[0] for each in console.url_patterns}

    assert named == {*CONSOLE, "", "domains", "waf-rules"}  # see test_waf_report_page.py, test_pattern_trial.py


def walk(resolver):
    for part in resolver.url_patterns:
        yield part
        if hasattr(part, "url_patterns"):
            yield from walk(part)
