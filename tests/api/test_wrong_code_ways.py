"""Every route that checks a second-factor code counts wrong codes in the same counter."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from tests.api.guessing import HERE, challenge, guess, number
from tests.support.proxies import PASSWORD, ROOT, Api, a_token, enter_admin_site
from tests.support.visitor import FORM

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]


def login_2fa(path):
    def enter(app, code):
        mine = challenge(path=path)
        body = {"challenge_token": mine.json()["challenge_token"], "code": code}
        Api(**{"X-Forwarded-For": HERE}).post(f"{path}/2fa", body)

    return enter


def page(client, path, **fields):
    return client.post(ROOT + path, urlencode(fields), content_type=FORM)


def guard(app, code):
    token = page(Client(), "/", username="alice", password=PASSWORD).context["challenge"]
    page(Client(), "/second-factor", challenge=token, code=code)


def admin_site(app, code):
    form = {"username": "alice", "password": PASSWORD, "code": code}
    Client().post(f"{ROOT}/admin/login/", form)


def step_up(app, code):
    client = Client()
    client.cookies["service.token"] = a_token(User.objects.get(username="alice"))
    page(client, "/step-up", code=code)


def off_by_api(app, code):
    user = User.objects.get(username="alice")
    token = a_token(user, at=timezone.now() - timedelta(hours=1))
    Api(token).post(f"/users/{user.pk}/totp/disable", {"code": code})


def off_by_page(app, code):
    client = Client()
    client.cookies["service.token"] = a_token(User.objects.get(username="alice"))
    page(client, "/account/second-factor/off", code=code)


def own_admin_page(app, code):
    client, user = Client(), User.objects.get(username="alice")
    enter_admin_site(client, user, amr=("pwd", "otp"), at=timezone.now() - timedelta(hours=1))
    form = {"username": "alice", "forget_second_factor": "on", "current_code": code}
    client.post(f"{ROOT}/admin/accounts/user/{user.pk}/change/", form)


@pytest.mark.parametrize(
    "enter",
    [
        *(login_2fa(path) for path in ("/login", "/admin-login")),
        *(guard, admin_site, step_up, off_by_api, off_by_page, own_admin_page),
    ],
    ids=["login", "admin-login", "guard", "admin-site", "step-up", "off-api", "off-page", "own-admin-page"],
)
@pytest.mark.parametrize("recovery", [False, True])
def test_all_routes_that_check_a_code_share_one_count(app, enter, recovery):
    guess(app, 3)

    enter(app, "0000-0000-0000-0000" if recovery else app.wrong)

    assert number() == 4
