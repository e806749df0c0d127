"""Canaries: no sign-in secret is in a log, an error, a page or a row, even after failures."""

import hashlib
import logging
from base64 import b32encode, b64encode, urlsafe_b64encode

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import Challenge, RecoveryCode, TotpDevice
from accounts.sign_in import totp
from tests.support.proxies import PASSWORD, Api, a_token, enter_admin_site
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
TYPED = "my password, typed as a name"
WRONG = "canary of a wrong password"
KEY = "canary of the recovery key"
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def app(alice, settings):
    settings.GATEWALL_ADMIN_RECOVERY_KEY = KEY
    return an_app(alice)


def forms_of(secret):
    """Return the encodings of a secret: plain, in hex and base64."""
    raw = secret if isinstance(secret, bytes) else secret.encode()
    encoded = [raw.hex(), *(encode(raw).decode().rstrip("=") for encode in (b32encode, b64encode, urlsafe_b64encode))]
    return encoded if isinstance(secret, bytes) else [secret, secret.replace("-", ""), *encoded]


def secrets_of(app, *more):
    known = [PASSWORD, WRONG, TYPED, KEY, app.secret, *app.recovery_codes, *more]
    return [form for secret in known for form in forms_of(secret)]


def attempts(app, user):
    """Make successful and failed attempts of every sign-in; return the issued tokens."""
    api, browser, tokens = Api(), Client(), []
    for path in ("/login", "/admin-login"):
        api.post(path, {"username": "alice", "password": WRONG})
        api.post(path, {"username": TYPED, "password": WRONG})
        api.post(path, {"username": "alice", "password": WRONG, "unknown": WRONG})
        challenge = api.post(path, {"username": "alice", "password": PASSWORD}).json()["challenge_token"]
        api.post(f"{path}/2fa", {"challenge_token": challenge, "code": WRONG})
        tokens.append(challenge)
    done = api.post("/admin-login/2fa", {"challenge_token": challenge, "code": app.recovery_codes[0]})
    tokens.append(done.json()["token"])
    for key, password in ((WRONG, PASSWORD), (KEY, WRONG)):
        body = {"username": "alice", "password": password, "recovery_key": key}
        api.post("/admin-recover-2fa", body, HTTP_HOST="localhost")
    browser.post("/wall/", f"username=alice&password={WRONG}", content_type=FORM)
    browser.post("/wall/second-factor", f"challenge={challenge}&code={WRONG}", content_type=FORM)
    browser.post("/wall/admin/login/", {"username": "alice", "password": WRONG, "code": WRONG})
    own = Api(a_token(user))
    own.put(f"/users/{user.pk}/password", {"current_password": WRONG, "new_password": WRONG})
    own.post(f"/users/{user.pk}/totp/disable", {"password": WRONG})
    return tokens


def test_no_secret_is_logged(app, alice, caplog):
    with caplog.at_level(logging.DEBUG):
        tokens = attempts(app, alice)
        with pytest.raises(CommandError):
            call_command("recover_admin_2fa", "nobody")
        call_command("recover_admin_2fa", "alice")

    assert caplog.records
    logged = "\n".join(
        f"{record.getMessage()} {record.exc_text or ''}"
        for record in caplog.records
        if record.name != "django.db.backends"  # statements at DEBUG, with their digests; settings.DEBUG is off
    )
    assert [secret for secret in secrets_of(app, *tokens) if secret in logged] == []


def test_no_error_is_logged_with_a_secret(app, caplog, monkeypatch):
    TotpDevice.objects.update(sealed_secret="v1.tests." + "A" * 80)
    client = Api()
    challenge = client.post("/login", {"username": "alice", "password": PASSWORD}).json()["challenge_token"]
    code = app.code()

    with caplog.at_level(logging.DEBUG):
        response = client.post("/login/2fa", {"challenge_token": challenge, "code": code})

    assert response.status_code == 401
    shown = caplog.text + response.text
    assert [secret for secret in secrets_of(app, challenge, code) if secret in shown] == []


def test_no_secret_is_in_a_row(app, alice):
    tokens = attempts(app, alice)

    rows = "\n".join(str(row) for model in apps.get_models() for row in model.objects.values())

    assert [secret for secret in secrets_of(app, *tokens) if secret in rows] == []


def test_the_digests_in_rows_are_of_one_user_alone(app, alice):
    code = app.recovery_codes[0].replace("-", "")
    digests = set(RecoveryCode.objects.values_list("digest", flat=True))

    assert hashlib.sha256(f"recovery-code:{alice.pk}:{code}".encode()).hexdigest() in digests
    assert hashlib.sha256(code.encode()).hexdigest() not in digests


def test_no_admin_page_shows_a_secret(app, alice):
    tokens = attempts(app, alice)
    client = Client()
    enter_admin_site(client, alice, amr=("pwd", "otp"))

    pages = [
        client.get(f"/wall/admin{path}") for path in ("/", "/accounts/user/", f"/accounts/user/{alice.pk}/change/")
    ]

    assert {page.status_code for page in pages} == {200}
    text = "".join(page.text for page in pages)
    assert [secret for secret in [*secrets_of(app, *tokens), alice.password] if secret in text] == []


def test_no_answer_about_users_shows_a_secret(app, alice, admin):
    text = (
        admin.get("/users").text + admin.get(f"/users/{alice.pk}").text + admin.get(f"/users/{alice.pk}/sessions").text
    )

    assert [secret for secret in [*secrets_of(app), alice.password] if secret in text] == []
    assert TotpDevice.objects.get().sealed_secret not in text


def test_no_row_shows_a_secret_as_text(app):
    challenge = Api().post("/login", {"username": "alice", "password": PASSWORD}).json()["challenge_token"]
    rows = [TotpDevice.objects.get(), *RecoveryCode.objects.all(), Challenge.objects.get()]

    shown = "".join(f"{row!r} {row}" for row in rows)

    assert [secret for secret in secrets_of(app, challenge) if secret in shown] == []
    assert totp._secret(rows[0]) == app.secret
