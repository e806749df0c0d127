"""The page of a user's links in the Django admin."""

import re

import pytest

from accounts.models import User
from tests.admin.conftest import ADMIN
from tests.support.mail_server import send_due, use
from tests.support.mailbox import mail_server

pytestmark = pytest.mark.django_db
TOKEN = re.compile(r"token=(gwi_[0-9A-Za-z]+)")


def test_a_link_is_shown_once_without_mail(pages, bob):
    change = pages.get(f"/accounts/user/{bob.pk}/change/")
    assert f'href="{ADMIN}/accounts/user/{bob.pk}/link/"' in change.content.decode()
    page = pages.get(f"/accounts/user/{bob.pk}/link/").content.decode()
    assert "No mail is configured" in page
    assert "hand_over" not in page

    shown = pages.submit(f"/accounts/user/{bob.pk}/link/", purpose="password-reset")
    token = TOKEN.search(shown.content.decode())[1]
    assert shown.status_code == 200
    assert "It is shown this once" in shown.content.decode()
    assert token not in str(pages.client.session.items())
    assert all(token not in morsel.value for morsel in pages.client.cookies.values())
    assert token not in pages.words(pages.get(f"/accounts/user/{bob.pk}/change/"))


def test_a_link_is_sent_with_mail(pages, bob, settings):
    with mail_server() as (mailbox, server):
        use(settings, server)
        page = pages.get(f"/accounts/user/{bob.pk}/link/").content.decode()
        assert "The link is sent to bob@office.example" in page
        sent = pages.submit(f"/accounts/user/{bob.pk}/link/", purpose="invitation", hand_over=None)
        assert "A link is on its way to bob@office.example." in pages.words(sent)
        send_due()
        assert mailbox.subjects() == ["Your invitation to wall.office.example"]

        by_hand = pages.submit(f"/accounts/user/{bob.pk}/link/", purpose="invitation", hand_over="on")
        assert TOKEN.search(by_hand.content.decode())


def test_a_user_is_created_with_an_invitation(pages):
    neither = pages.submit("/accounts/user/add/", username="kim")
    assert "Enter a password, or invite the user" in neither.content.decode()
    both = pages.submit("/accounts/user/add/", username="kim", new_password="correct horse 2", invite="on")
    assert "Enter a password, or invite the user" in both.content.decode()

    shown = pages.submit("/accounts/user/add/", username="kim", invite="on")
    assert TOKEN.search(shown.content.decode())
    assert User.objects.filter(username="kim").exists()


def test_a_link_for_a_disabled_or_missing_user_is_refused(pages, bob):
    User.objects.filter(pk=bob.pk).update(is_active=False)

    refused = pages.submit(f"/accounts/user/{bob.pk}/link/", purpose="invitation")
    assert "is disabled: enable the account first" in refused.content.decode()
    assert pages.get("/accounts/user/999999/link/").status_code == 404


def test_an_auditor_gets_no_link(pages, alice, bob, wall):
    from django.test import Client  # noqa: PLC0415 - after the fixtures

    wall.a_user("eve", is_auditor=True)
    client = Client()
    wall.enter_admin_site(client, User.objects.get(username="eve"))

    path = f"{ADMIN}/accounts/user/{bob.pk}/link/"
    assert client.get(path).status_code == 403
    assert client.post(path, {"purpose": "invitation"}).status_code == 403
    assert "Send a link" not in client.get(f"{ADMIN}/accounts/user/{bob.pk}/change/").content.decode()
