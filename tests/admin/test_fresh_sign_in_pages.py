"""Admin pages that create tokens and secrets ask stale sessions for the password again."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts import services
from accounts.models import ApiToken, Passkey, Session, User
from licensing.models import GitToken, License
from tests.admin.test_webhooks import act
from tests.support.proxies import PASSWORD, a_git_token, an_api_token
from tests.support.second_factor import an_app
from webhooks.models import Webhook

PAGES = pytest.mark.parametrize(
    ("path", "model", "values"),
    [
        ("/licensing/license/add/", License, {"name": "build farm"}),
        ("/licensing/gittoken/add/", GitToken, {"name": "laptop"}),
        ("/accounts/apitoken/add/", ApiToken, {"name": "ci", "scopes": ["policy:read"]}),
        ("/webhooks/webhook/add/", Webhook, {"name": "pager", "url": "https://hooks.example/in"}),
    ],
)


def get_older(minutes=10):
    for row in Session.objects.all():
        Session.objects.filter(pk=row.pk).update(issued_at=row.issued_at - timedelta(minutes=minutes))


@PAGES
def test_page_asks_for_the_password_when_the_session_is_ten_minutes_old(pages, bob, path, model, values):
    values = {**values, "user": str(bob.pk)} if model is GitToken else values
    assert "current_password" not in pages.get(path).content.decode()
    get_older()
    assert "current_password" in pages.get(path).content.decode()

    answers = [pages.submit(path, **values), pages.submit(path, current_password="wrong", **values)]

    assert ["your password is required" in answers[0].content.decode(), model.objects.count()] == [True, 0]
    assert "the password is wrong" in answers[1].content.decode()
    assert pages.submit(path, current_password=PASSWORD, **values).status_code == 200
    assert model.objects.count() == 1


NEW = {"username": "dora", "new_password": "a battery of staples"}


def test_a_page_asks_for_the_password_before_it_gives_a_user_access(pages, bob):
    own = f"/accounts/user/{bob.pk}/change/"
    get_older()
    tries = [("/accounts/user/add/", NEW), (own, {"new_password": PASSWORD + "!"}), (own, {"is_auditor": "on"})]
    for path, values in tries:
        before = list(User.objects.order_by("pk").values_list("password", "is_auditor"))
        assert "your password is required" in pages.submit(path, **values).content.decode(), path
        assert "the password is wrong" in pages.submit(path, current_password="wrong", **values).content.decode()
        assert list(User.objects.order_by("pk").values_list("password", "is_auditor")) == before
        assert pages.submit(path, current_password=PASSWORD, **values).status_code == 302
        assert list(User.objects.order_by("pk").values_list("password", "is_auditor")) != before


def test_a_page_asks_for_nothing_where_it_gives_no_access(pages, bob):
    get_older()

    assert pages.submit(f"/accounts/user/{bob.pk}/change/", remark="x").status_code == 302
    assert "current_password" in pages.get("/accounts/user/add/").content.decode()


def test_a_fresh_session_adds_a_user_without_a_question(pages):
    assert "current_password" not in pages.get("/accounts/user/add/").content.decode()
    assert pages.submit("/accounts/user/add/", **NEW).status_code == 302


def test_wrong_passwords_on_these_pages_are_counted(pages):
    get_older()
    for _ in range(10):
        pages.submit("/licensing/license/add/", name="x", current_password="wrong")

    answer = pages.submit("/licensing/license/add/", name="x", current_password=PASSWORD)

    assert "too many failed attempts" in answer.content.decode()
    assert not License.objects.exists()


def test_a_secret_is_rotated_only_in_a_fresh_session(pages):
    pages.submit("/webhooks/webhook/add/", name="pager", url="https://hooks.example/in")
    row = Webhook.objects.get()
    get_older()

    answer = act(pages, "/webhooks/webhook/", "rotate_secret", row)

    assert "sign in again" in answer.content.decode()
    assert Webhook.objects.get().sealed_secret == row.sealed_secret


@pytest.mark.parametrize(("never", "days"), [({}, 90), ({"never_expires": "on"}, None)])
def test_a_git_token_expires_in_90_days_unless_it_never_expires(pages, bob, never, days):
    pages.submit("/licensing/gittoken/add/", name="laptop", user=str(bob.pk), **never)

    end = GitToken.objects.get().expires_at
    assert (None if end is None else round((end - timezone.now()) / timedelta(days=1))) == days


def test_a_git_token_cannot_both_expire_and_never_expire(pages, bob):
    end = {"expires_at_0": "2030-01-01", "expires_at_1": "00:00:00"}

    answer = pages.submit("/licensing/gittoken/add/", name="laptop", user=str(bob.pk), never_expires="on", **end)

    assert "Choose either a time or that it never expires." in answer.text
    assert not GitToken.objects.exists()


def test_a_new_password_deletes_api_tokens_where_the_box_is_ticked(pages, alice):
    an_api_token(alice)
    own = f"/accounts/user/{alice.pk}/change/"
    pages.submit(own, remark="tall", revoke_api_tokens="on")
    assert ApiToken.objects.count() == 1

    pages.submit(own, new_password="another battery staple", revoke_api_tokens="on", current_password=PASSWORD)

    assert ApiToken.objects.count() == 0


@pytest.mark.parametrize(("fields", "left"), [({}, 1), ({"revoke_git_tokens": "on"}, 0)])
def test_new_password_revokes_git_tokens_where_the_box_is_ticked(pages, bob, fields, left):
    a_git_token(bob)

    pages.submit(f"/accounts/user/{bob.pk}/change/", new_password="another battery staple", **fields)

    assert GitToken.objects.count() == left
    assert services.User.objects.get(pk=bob.pk).session_version == 2


def test_without_a_new_password_the_box_revokes_nothing(pages, bob):
    a_git_token(bob)

    pages.submit(f"/accounts/user/{bob.pk}/change/", remark="tall", revoke_git_tokens="on")

    assert GitToken.objects.count() == 1


@pytest.mark.parametrize("kind", ["passkey", "totpdevice"])
def test_a_second_factor_is_deleted_one_at_a_time_with_a_proof(pages, alice, bob, kind):
    app = an_app(alice)
    an_app(bob)
    Passkey.objects.create(user=bob, name="phone", credential_id="the id", public_key="k", rp_id="a.example")
    Session.objects.update(amr=["pwd", "otp"])
    row = Passkey.objects.get() if kind == "passkey" else bob.totp_devices.get()
    path = f"/accounts/{kind}/{row.pk}/delete/"
    assert "current_code" not in pages.get(path).text
    pages.delete_chosen(f"/accounts/{kind}/", row)
    assert type(row).objects.filter(pk=row.pk).exists()
    get_older()

    assert "current_code" in pages.get(path).text
    assert "Send a code of your second factor along" in pages.words(pages.delete(path, current_password=PASSWORD))
    assert "The code is wrong" in pages.words(pages.delete(path, current_code=app.wrong))
    assert type(row).objects.filter(pk=row.pk).exists()
    assert pages.delete(path, current_code=app.code()).status_code == 302
    assert not type(row).objects.filter(pk=row.pk).exists()
