"""Users, licenses and git tokens through the real admin pages."""

import re
from base64 import b32decode
from datetime import timedelta

import pytest
from django.utils import timezone
from django_otp import oath

from accounts import selectors, services
from accounts.models import Session, User
from accounts.sign_in import login, totp
from accounts.sign_in import password as passwords
from accounts.visitor import Visitor
from gatewall.engine.model import CredentialKind, Reason
from gatewall.policy import revisions
from licensing import services as licensing
from licensing.models import GitToken, License
from tests.admin.conftest import ADMIN, Fields, Pages
from tests.support.cast import OFFICE, a_credential
from tests.support.proxies import PASSWORD, enter_admin_site

OTHER_PASSWORD = "staple battery horse correct"


def session_of(user, **parts):
    """Open a session; return its token."""
    visitor = Visitor(client_ip="198.51.100.7", user_agent="browser of bob")
    return login.start_session(user, audiences=("gate",), amr=("pwd",), visitor=visitor, at=timezone.now()).text


def a_session(token):
    return [a_credential(token, CredentialKind.SESSION_COOKIE)]


def test_a_user_is_added_changed_and_deleted(pages, decide, office):
    before = revisions.current()

    written = {"username": "charlie", "new_password": OTHER_PASSWORD, "all_domains": None}
    response = pages.submit("/accounts/user/add/", authorized_domains=[office.pk], **written)
    assert response.status_code == 302
    added = revisions.current()
    assert added.supersedes(before)
    charlie = User.objects.get(username="charlie")
    assert charlie.created_by == "alice"
    assert passwords.verify("charlie", OTHER_PASSWORD) == charlie
    token = session_of(charlie)
    assert decide(host=OFFICE, credentials=a_session(token)) is Reason.SESSION_VALID
    assert decide(host="other.example", credentials=a_session(token)) is Reason.HOST_NOT_IN_SCOPE

    response = pages.submit(f"/accounts/user/{charlie.pk}/change/", authorized_domains=[])
    assert response.status_code == 302
    changed = revisions.current()
    assert changed.supersedes(added)
    assert decide(host=OFFICE, credentials=a_session(token)) is Reason.HOST_NOT_IN_SCOPE

    assert pages.delete(f"/accounts/user/{charlie.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(changed)
    assert decide(host=OFFICE, credentials=a_session(token)) is Reason.CREDENTIAL_INVALID


def test_a_change_without_a_new_password_keeps_password_and_sessions(pages, bob, decide):
    token = session_of(bob)

    pages.submit(f"/accounts/user/{bob.pk}/change/", remark="tall")

    assert User.objects.get(pk=bob.pk).remark == "tall"
    assert passwords.verify("bob", PASSWORD) is not None
    assert decide(credentials=a_session(token)) is Reason.SESSION_VALID


def test_a_new_password_ends_the_sessions(pages, bob, decide):
    token = session_of(bob)

    pages.submit(f"/accounts/user/{bob.pk}/change/", new_password=OTHER_PASSWORD)

    assert passwords.verify("bob", OTHER_PASSWORD) is not None
    assert decide(credentials=a_session(token)) is Reason.CREDENTIAL_INVALID


def test_a_session_that_ends_while_the_form_is_open_does_not_matter(pages, bob):
    session_of(bob)
    path = f"/accounts/user/{bob.pk}/change/"
    sent = Fields(pages.get(path).content.decode()).values
    services.revoke_session(Session.objects.get(user=bob).jti, at=timezone.now())

    response = pages.client.post(f"{ADMIN}{path}", {**sent, "remark": "tall"})

    assert response.status_code == 302
    assert User.objects.get(pk=bob.pk).remark == "tall"


def test_an_admin_who_changes_their_own_password_keeps_their_session(pages, alice):
    pages.submit(f"/accounts/user/{alice.pk}/change/", new_password=OTHER_PASSWORD)

    assert pages.get("/").status_code == 200


def test_the_django_password_page_redirects_to_the_user_page(pages, alice):
    assert pages.get("/password_change/").url == f"{ADMIN}/accounts/user/{alice.pk}/change/"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"username": "ALICE"}, "already"),
        ({"new_password": "short"}, "8 to 128 characters"),
        ({"new_password": "password123"}, "too common"),
        ({"new_password": ""}, "Enter a password, or invite the user"),
        ({"username": "a b"}, "a user name has 3 to 64 characters"),
    ],
)
def test_the_page_refuses_an_invalid_user(pages, written, words):
    before = revisions.current()

    response = pages.submit("/accounts/user/add/", **{"username": "dave", "new_password": OTHER_PASSWORD, **written})

    assert response.status_code == 200
    assert words in pages.words(response)
    assert revisions.current() == before
    assert User.objects.count() == 1


@pytest.mark.parametrize("unticked", ["is_admin", "is_active"])
def test_the_last_admin_cannot_be_demoted_or_disabled_on_the_page(pages, alice, unticked):
    before = revisions.current()

    response = pages.submit(f"/accounts/user/{alice.pk}/change/", **{unticked: None})

    assert "lice is the last active admin" in pages.words(response)
    alice.refresh_from_db()
    assert alice.is_staff
    assert revisions.current() == before


def test_the_last_admin_is_not_deleted(pages, alice):
    before = revisions.current()

    response = pages.delete(f"/accounts/user/{alice.pk}/delete/")

    assert "lice is the last active admin" in pages.words(response)
    assert User.objects.filter(pk=alice.pk).exists()
    assert revisions.current() == before


def test_of_chosen_rows_all_are_deleted_or_none(pages, alice, bob):
    before = revisions.current()

    response = pages.delete_chosen("/accounts/user/", bob, alice)

    words = pages.words(response)
    assert "lice is the last active admin" in words
    assert "Successfully" not in words
    assert User.objects.count() == 2
    assert revisions.current() == before


def test_live_sessions_are_shown_and_cannot_be_edited(pages, bob):
    token = session_of(bob)
    ended = login.start_session(
        bob,
        audiences=("gate",),
        amr=("pwd",),
        visitor=Visitor("203.0.113.9", "of yesterday"),
        at=timezone.now() - timedelta(days=2),
    )

    page = pages.words(pages.get(f"/accounts/user/{bob.pk}/change/"))

    assert "browser of bob" in page
    assert "of yesterday" not in page
    assert token not in page
    assert str(ended.jti) not in page


def test_a_license_shows_its_token_once_and_opens_until_deleted(pages, decide):
    before = revisions.current()

    response = pages.submit("/licensing/license/add/", name="robot")

    issued = revisions.current()
    assert issued.supersedes(before)
    (token,) = set(re.findall(r"gwl_[0-9A-Za-z]{49}", response.content.decode()))
    row = License.objects.get()
    assert row.created_by == "alice"
    sent = [a_credential(token, CredentialKind.LICENSE)]
    assert decide(credentials=sent) is Reason.LICENSE_VALID
    shown_later = [pages.words(pages.get(each)) for each in ("/", f"/licensing/license/{row.pk}/change/")]
    assert not any(token in page or row.digest in page for page in shown_later)
    assert "messages" not in pages.client.cookies

    assert pages.submit(f"/licensing/license/{row.pk}/change/", is_active=None).status_code == 302
    changed = revisions.current()
    assert changed.supersedes(issued)
    assert decide(credentials=sent) is Reason.CREDENTIAL_INVALID
    assert License.objects.get().digest == row.digest

    assert pages.delete(f"/licensing/license/{row.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(changed)
    assert not License.objects.exists()


def test_the_scope_of_a_license_is_set(pages, decide, office):
    response = pages.submit("/licensing/license/add/", name="robot", all_domains=None, authorized_domains=[office.pk])
    (token,) = set(re.findall(r"gwl_[0-9A-Za-z]{49}", response.content.decode()))
    sent = [a_credential(token, CredentialKind.LICENSE)]

    assert decide(host=OFFICE, credentials=sent) is Reason.LICENSE_VALID
    assert decide(host="other.example", credentials=sent) is Reason.HOST_NOT_IN_SCOPE


def test_a_license_of_a_taken_name_is_refused_without_a_token(pages):
    licensing.issue_license(actor="test", name="robot")
    before = revisions.current()

    response = pages.submit("/licensing/license/add/", name="robot")

    assert "already exists" in pages.words(response)
    assert "gwl_" not in pages.words(response)
    assert revisions.current() == before


def test_a_git_token_is_made_shown_once_and_revoked(pages, decide, bob):
    before = revisions.current()

    response = pages.submit("/licensing/gittoken/add/", user=bob.pk, name="laptop")

    issued = revisions.current()
    assert issued.supersedes(before)
    (token,) = set(re.findall(r"gwg_[0-9A-Za-z]{49}", response.content.decode()))
    row = GitToken.objects.get()
    sent = [a_credential(token, CredentialKind.GIT_TOKEN, "bob")]
    assert decide(credentials=sent) is Reason.GIT_TOKEN_VALID
    page = pages.words(pages.get(f"/licensing/gittoken/{row.pk}/change/"))
    assert row.prefix in page
    assert token not in page
    assert row.digest not in page

    assert pages.delete(f"/licensing/gittoken/{row.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(issued)
    assert decide(credentials=sent) is Reason.CREDENTIAL_INVALID


def test_non_admins_are_redirected_to_sign_in(bob):
    browser = Pages()
    enter_admin_site(browser.client, bob)

    for path in ("/", "/accounts/user/", "/accounts/user/add/", "/gatewall/systemsettings/1/change/"):
        response = browser.get(path)
        assert response.status_code == 302
        assert "/login/" in response.url


def test_an_admin_signs_in_with_their_password_and_nobody_else(alice, bob):
    for username, password, status in (("alice", PASSWORD, 302), ("bob", PASSWORD, 200), ("alice", "wrong", 200)):
        browser = Pages()

        response = browser.submit("/login/", username=username, password=password)

        assert response.status_code == status, username


def test_enabling_an_admin_again_does_not_revive_old_sessions(pages, bob):
    services.change_user(bob, is_admin=True, actor="alice")
    browser = Pages()
    enter_admin_site(browser.client, bob)
    assert browser.get("/").status_code == 200

    services.change_user(bob, is_active=False, actor="alice")
    services.change_user(bob, is_active=True, actor="alice")

    assert browser.get("/").status_code == 302


def test_an_admin_removes_the_lost_second_factor_of_a_user(pages, bob):
    setup = totp.begin_setup(bob, at=timezone.now())
    code = f"{oath.totp(b32decode(setup.secret)):06d}"
    totp.confirm_setup(bob, code, at=timezone.now())
    session_of(bob)
    page = f"/accounts/user/{bob.pk}/change/"

    response = pages.submit(page, forget_second_factor="on")

    assert response.status_code == 302
    assert not selectors.has_second_factor(bob)
    assert not selectors.live_sessions(bob.pk, timezone.now())
    assert "forget_second_factor" not in pages.get(page).content.decode()
    assert setup.secret not in pages.get(page).content.decode()
