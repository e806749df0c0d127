"""Recovery of the second factor: only from this machine and with the key."""

from itertools import product

import pytest
from django.contrib.auth import hashers
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts import services
from accounts.models import FailureCount, RecoveryCode, Session, TotpDevice
from accounts.sign_in import password as passwords
from accounts.sign_in import totp
from gatewall.policy import system_settings
from tests.support.proxies import PASSWORD, Api, a_token, code_of
from tests.support.second_factor import an_app

pytestmark = pytest.mark.django_db
KEY = "the recovery key of this installation"
PATH = "/admin-recover-2fa"
LOCAL_PEERS = ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"]
LOCAL_HOSTS = [
    "127.0.0.1",
    "127.0.0.1:9999",
    "localhost",
    "LocalHost:9999",
    "localhost.",
    "localhost.:9999",
    "[::1]",
    "[::1]:9999",
    "[0:0:0:0:0:0:0:1]:9999",
    "127.1.2.3",
]
FOREIGN_PEERS = ["203.0.113.7", "10.0.0.1", "192.168.1.1", "::ffff:203.0.113.7", "fe80::1", "0.0.0.0", "::", ""]
FOREIGN_HOSTS = [
    "wall.example",
    "localhost.wall.example",
    "127.0.0.1.wall.example",
    "10.0.0.1",
    "0.0.0.0",
    "127.1",
    "2130706433",
    "0x7f000001",
    "localhost@wall.example",
    "wall.example@localhost",
    "localhost, wall.example",
    "localhost\nwall.example",
    "[::ffff:203.0.113.7]",
    "localhost:port",
    "",
]
PROXY_HEADERS = [
    "Forwarded",
    "Via",
    "X-Real-IP",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Forwarded-Port",
    "X-Forwarded-Server",
    "X-Forwarded-Anything",
    "X-Forwarded",
]


@pytest.fixture(autouse=True)
def _key(settings):
    settings.GATEWALL_ADMIN_RECOVERY_KEY = KEY


@pytest.fixture
def app(alice):
    return an_app(alice)


def recover(*, peer="127.0.0.1", host="localhost:9999", headers=None, **changes):
    body = {"username": "alice", "password": PASSWORD, "recovery_key": KEY, **changes}
    return Api(**(headers or {})).post(PATH, body, REMOTE_ADDR=peer, HTTP_HOST=host)


def has_factor():
    return TotpDevice.objects.exists() and RecoveryCode.objects.exists()


def test_factor_codes_and_sessions_of_the_admin_are_gone(alice, app, auth):
    token = a_token(alice)

    response = recover()

    assert (response.status_code, response.content) == (204, b"")
    assert not TotpDevice.objects.exists()
    assert not RecoveryCode.objects.exists()
    assert auth(service_authorization=token).status == 401
    assert Api(token).get("/session").status_code == 401
    assert Api().post("/login", {"username": "alice", "password": PASSWORD}).json()["two_factor_required"] is False


def test_recovery_opens_no_session(app):
    assert not recover().cookies
    assert not Session.objects.exists()


def test_a_challenge_that_was_open_is_dead(app):
    challenge = Api().post("/login", {"username": "alice", "password": PASSWORD}).json()["challenge_token"]
    code = app.code()

    recover()

    response = Api().post("/login/2fa", {"challenge_token": challenge, "code": code})
    assert code_of(response) == (401, "invalid-challenge")


def test_an_admin_without_a_factor_may_recover_as_well(alice):
    assert recover().status_code == 204


@pytest.mark.parametrize("peer", LOCAL_PEERS)
@pytest.mark.parametrize("host", LOCAL_HOSTS)
def test_recovery_accepts_every_local_peer_and_host(app, peer, host):
    assert recover(peer=peer, host=host).status_code == 204


def test_recovery_from_a_foreign_peer_is_refused(app):
    for peer, host in product(FOREIGN_PEERS, LOCAL_HOSTS[:3]):
        assert code_of(recover(peer=peer, host=host)) == (403, "recovery-local-only"), (peer, host)
    assert has_factor()


def test_recovery_at_a_foreign_host_is_refused(app):
    for peer, host in product(LOCAL_PEERS[:3], FOREIGN_HOSTS):
        assert code_of(recover(peer=peer, host=host)) == (403, "recovery-local-only"), (peer, host)
    assert has_factor()


def test_recovery_through_a_proxy_is_refused(app):
    for name, value in product(PROXY_HEADERS, ["127.0.0.1", ""]):
        assert code_of(recover(headers={name: value})) == (403, "recovery-local-only"), (name, value)
    assert has_factor()


def test_recovery_at_the_public_host_is_refused(app, settings):
    settings.GATEWALL_PUBLIC_URL = "https://wall.example"

    assert code_of(recover(host="wall.example")) == (403, "recovery-local-only")


def test_remote_callers_get_no_details_about_an_invalid_body(app):
    assert code_of(Api().post(PATH, {"nonsense": 1}, REMOTE_ADDR="203.0.113.7")) == (403, "recovery-local-only")


def test_remote_attempts_count_no_failure(app):
    recover(peer="203.0.113.7", password="wrong")

    assert not FailureCount.objects.exists()


def test_a_setting_permits_remote_recovery_with_the_key(app):
    system_settings.change(actor="cast", recovery_local_only=False)
    elsewhere = {"peer": "203.0.113.7", "host": "wall.example", "headers": {"Via": "1.1 proxy"}}

    assert code_of(recover(**elsewhere, recovery_key="wrong")) == (403, "recovery-refused")
    assert recover(**elsewhere).status_code == 204


def test_all_refusals_are_identical(alice, bob, app, settings):
    services.create_user(actor="", username="dora", password=PASSWORD, is_admin=True, is_active=False)
    wrongs = [
        {"recovery_key": "wrong"},
        {"recovery_key": KEY + "x"},
        {"recovery_key": KEY[:-1]},
        {"recovery_key": "\u00e9" * 10},
        {"password": "wrong"},
        {"password": "wrong", "recovery_key": "wrong"},
        {"username": "nobody"},
        {"username": "Bob"},
        {"username": "dora"},
        {"username": "no name at all; --"},
    ]
    responses = [recover(**wrong) for wrong in wrongs]
    settings.GATEWALL_ADMIN_RECOVERY_KEY = None
    responses += [recover(recovery_key=key) for key in (KEY, "None", "x")]

    assert {code_of(response) for response in responses} == {(403, "recovery-refused")}
    assert len({response.content for response in responses}) == 1
    assert has_factor()


@pytest.mark.parametrize("key", [None, ""])
def test_without_a_key_set_nothing_is_the_key(app, settings, key):
    settings.GATEWALL_ADMIN_RECOVERY_KEY = key

    assert {recover(recovery_key=sent).status_code for sent in ("None", " ", "0")} <= {400, 403}
    assert recover(recovery_key="").status_code == 400
    assert has_factor()


def test_the_recovery_key_is_checked_before_the_password(app, monkeypatch):
    monkeypatch.setattr(hashers, "verify_password", lambda *_: pytest.fail("the password was looked at"))

    assert code_of(recover(recovery_key="wrong")) == (403, "recovery-refused")


@pytest.mark.parametrize("changes", [{"recovery_key": "wrong"}, {"password": "wrong"}, {"username": "Bob"}])
def test_recovery_attempts_share_the_throttling_of_sign_in(clock, app, bob, changes):
    assert {recover(**changes).status_code for _ in range(10)} == {403}

    response = recover(**changes)

    assert code_of(response) == (429, "too-many-attempts")
    assert response.headers["Retry-After"] == "30"
    name = changes.get("username", "alice")
    assert Api().post("/login", {"username": name, "password": PASSWORD}).status_code == 429


def test_another_site_cannot_make_a_browser_on_this_machine_recover(app):
    assert code_of(recover(headers={"Sec-Fetch-Site": "cross-site"})) == (403, "cross-site")
    assert has_factor()


@pytest.mark.parametrize("verb", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
def test_recovery_is_a_post(app, verb):
    response = Api().send(verb, PATH, REMOTE_ADDR="127.0.0.1", HTTP_HOST="localhost")

    assert response.status_code == 405


@pytest.mark.parametrize("name", ["alice", "ALICE"])
def test_the_command_recovers_without_key_and_password(alice, app, auth, capsys, name):
    token = a_token(alice)

    call_command("recover_admin_2fa", name)

    assert "alice has no second factor" in capsys.readouterr().out
    assert not TotpDevice.objects.exists()
    assert not RecoveryCode.objects.exists()
    assert auth(service_authorization=token).status == 401
    assert passwords.verify("alice", PASSWORD) == alice


@pytest.mark.parametrize("name", ["nobody", "", "a\0b", "no name at all; --"])
def test_the_command_reports_an_unknown_user(alice, app, name):
    with pytest.raises(CommandError, match="there is no user named"):
        call_command("recover_admin_2fa", name)
    assert has_factor()


def test_the_command_ends_a_setup_that_was_never_confirmed(alice):
    totp.begin_setup(alice, at=timezone.now())

    call_command("recover_admin_2fa", "alice")

    assert not TotpDevice.objects.exists()
