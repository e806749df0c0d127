"""Pages of one-time links: forgotten password, new password, invitation."""

from datetime import timedelta

import pytest
from django.test import Client

from accounts.links import links
from accounts.models import AccountLink, LinkPurpose, User
from audit.models import SecurityEvent
from gatewall.policy import system_settings
from tests.support.mail_server import PUBLIC_URL, send_due
from tests.support.proxies import PASSWORD, Api, a_git_token, a_token
from tests.support.second_factor import an_app
from tests.support.visitor import Visitor, words
from webhooks.models import Mail

pytestmark = pytest.mark.django_db
NEW = "another battery staple"
OVER = "This link was used already, has expired, or was replaced by a newer one."


def a_link(user, purpose=LinkPurpose.PASSWORD_RESET, **options):
    from django.utils import timezone  # noqa: PLC0415 - with the clock of the test

    return links.issue(user, purpose, at=timezone.now(), created_by="alice", **options).token.text


def set_password(token, *, path="/password/new", visitor=None, **fields):
    return (visitor or Visitor()).send(path, token=token, new=NEW, **fields)


def can_sign_in(name, password):
    return Visitor().sign_in(name, password=password).status_code == 303


def test_a_password_is_reset_from_the_guard_page_by_mail(mailbox, bob):
    token, visitor = a_token(bob), Visitor()
    assert 'href="/wall/password/forgot"' in visitor.get("/").text
    assert "User name or e-mail address" in words(visitor.get("/password/forgot"))

    sent = visitor.send("/password/forgot", account="bob@office.example")
    assert "a link is on its way there" in words(sent)
    assert words(visitor.send("/password/forgot", account="nobody")) == words(sent)
    send_due()
    path, _, link = mailbox.links()[0].removeprefix(f"{PUBLIC_URL}/wall").partition("?token=")
    page = visitor.get(path, {"token": link})
    assert "Choose a new password" in words(page)
    done = set_password(link, path=path, visitor=visitor)

    assert "Your password is changed" in words(done)
    assert not can_sign_in("Bob", PASSWORD)
    assert can_sign_in("Bob", NEW)
    assert Api(token).get("/session").status_code == 401  # every session ended


def test_a_link_works_once_and_opening_it_does_not_use_it_up(bob):
    token = a_link(bob)
    for _ in range(3):  # mail scanners open links
        assert Visitor().get("/password/new", {"token": token}).status_code == 200

    assert set_password(token).status_code == 200
    again = set_password(token)
    assert again.status_code == 410
    assert OVER in words(again)
    assert Visitor().get("/password/new", {"token": token}).status_code == 410


@pytest.mark.parametrize(
    "end",
    [
        lambda _, clock: clock.shift(timedelta(minutes=30)),
        lambda user, _: a_link(user),
        lambda user, _: User.objects.filter(pk=user.pk).update(is_active=False),
        lambda user, _: User.objects.filter(pk=user.pk).update(session_version=7),
        lambda user, _: user.delete(),
    ],
    ids=["time", "a newer link", "disabled", "password changed or signed out everywhere", "deleted"],
)
def test_an_ended_link_is_refused(bob, clock, end):
    token = a_link(bob)
    end(bob, clock)

    assert set_password(token).status_code == 410


def test_a_link_for_one_purpose_is_refused_for_another(bob):
    token = a_link(bob)

    assert set_password(token, path="/invitation").status_code == 410
    assert set_password("").status_code == 410
    assert set_password(f"{token}x").status_code == 410
    assert set_password(token.lower()).status_code == 410
    assert Visitor().get("/password/new").status_code == 410


def test_a_refused_password_leaves_the_link(bob):
    token = a_link(bob)
    short = Visitor().send("/password/new", token=token, new="short")

    assert (short.status_code, "8 to 128 characters" in words(short)) == (400, True)
    assert set_password(token).status_code == 200


def test_the_second_factor_is_asked_for_and_a_wrong_code_leaves_the_link_and_counts(bob):
    app, token = an_app(bob), a_link(bob)
    assert 'id="code"' in Visitor().get("/password/new", {"token": token}).text

    for code in ("", app.wrong):
        wrong = set_password(token, code=code)
        assert "The code is wrong" in words(wrong)
    assert SecurityEvent.objects.filter(kind="two-factor.failed").count() == 1
    assert "Your password is changed" in words(set_password(token, code=app.code()))


def test_git_tokens_stay_unless_asked(bob):
    a_git_token(bob)
    set_password(a_link(bob))
    assert bob.git_tokens.count() == 1
    set_password(a_link(User.objects.get(pk=bob.pk)), revoke_tokens="on")
    assert bob.git_tokens.count() == 0


def test_an_invitation_sets_name_and_password_and_signs_in(bob):
    token = a_link(bob, purpose=LinkPurpose.INVITATION, may_rename=True)
    visitor = Visitor()
    page = visitor.get("/invitation", {"token": token})
    assert "Welcome" in words(page)
    assert 'id="username" name="username" value="Bob"' in page.text

    taken = set_password(token, path="/invitation", visitor=visitor, username="b")
    assert taken.status_code == 400
    done = set_password(token, path="/invitation", visitor=visitor, username="robert")
    assert done.status_code == 303
    assert User.objects.get(pk=bob.pk).username == "robert"
    assert "robert" in words(visitor.get("/account"))


def test_a_name_is_only_chosen_where_the_admin_allowed_it_and_never_one_that_is_taken(alice, bob):
    token = a_link(bob, purpose=LinkPurpose.INVITATION)
    set_password(token, path="/invitation", username="robert")
    assert User.objects.get(pk=bob.pk).username == "Bob"

    token = a_link(User.objects.get(pk=bob.pk), purpose=LinkPurpose.INVITATION, may_rename=True)
    taken = set_password(token, path="/invitation", username="ALICE")
    assert (taken.status_code, "This name is used already" in words(taken)) == (409, True)
    assert AccountLink.objects.count() == 1  # not used up


def test_an_invitation_to_somebody_with_a_second_factor_gives_no_session(bob):
    app = an_app(bob)
    token, visitor = a_link(bob, purpose=LinkPurpose.INVITATION), Visitor()

    assert "The code is wrong" in words(set_password(token, path="/invitation", visitor=visitor))
    done = set_password(token, path="/invitation", visitor=visitor, code=app.code())
    assert (done.status_code, visitor.token) == (200, "")


def test_without_mail_the_page_names_the_contact(bob):
    system_settings.change(actor="alice", contact="Call 1234")
    page = Visitor().get("/password/forgot")

    assert "Ask your administrator for a link" in words(page)
    assert "Call 1234" in words(page)
    assert "<form" not in page.text
    assert "sends no mail" in words(Visitor().send("/password/forgot", account="bob"))


def test_the_address_of_a_page_with_a_link_is_in_no_referer(bob):
    token = a_link(bob)
    pages = [Visitor().get("/password/new", {"token": token}), Visitor().send("/password/new", token=token, new="x")]
    pages += [set_password(token), set_password(token)]

    assert {page.headers["Referrer-Policy"] for page in pages} == {"strict-origin"}
    assert {page.headers["Cache-Control"] for page in pages} == {"no-store"}


def test_forms_of_another_site_are_refused(mailbox, bob):
    token = a_link(bob)
    for path, fields in (("/password/new", {"token": token, "new": NEW}), ("/password/forgot", {"account": "bob"})):
        assert Visitor().send(path, {"Sec-Fetch-Site": "cross-site"}, **fields).status_code == 403

    assert not Mail.objects.exists()
    assert can_sign_in("Bob", PASSWORD)


def test_the_host_of_a_request_is_in_no_link_of_a_mail(mailbox, bob):
    Client(headers={"Host": "evil.example"}).post("/wall/password/forgot", {"account": "bob"})
    Api(HTTP_HOST="evil.example").post("/password-reset", {"account": "bob"})
    send_due()

    assert "evil" not in mailbox.mails[0].as_string()
