"""Several authenticator apps of one user: add, name, use, remove, and attacks."""

from datetime import timedelta

import pytest

from accounts.models import RecoveryCode, RememberedDevice, Session, TotpDevice
from accounts.sign_in import totp
from audit.models import SecurityEvent
from tests.api.own import OLD, of
from tests.support.cast import MOMENT
from tests.support.proxies import PASSWORD, Api, a_token, code_of
from tests.support.second_factor import App, an_app, secret_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def first(clock, bob):
    return an_app(bob)


@pytest.fixture
def second(first, fresh, bob):
    return another(fresh, bob, "tablet")


def another(client, user, name):
    """Add an app over the API; its current code is then used up."""
    app = App(secret_of(client.post(of(user, "totp/setup"), {"name": name}).json()["secret"]))
    answer = client.post(of(user, "totp/confirm"), {"code": app.code()})
    assert answer.json() == {"recovery_codes": []}
    return app


def sign_in(code):
    challenge = Api().post("/login", {"username": "Bob", "password": PASSWORD}).json()["challenge_token"]
    return Api().post("/login/2fa", {"challenge_token": challenge, "code": code})


def names(client, user):
    return [row["name"] for row in client.get(of(user, "totp-devices")).json()["results"]]


def row_of(user, name):
    return user.totp_devices.get(name=name)


def test_codes_of_each_app_sign_in_and_each_has_its_last_use(first, second, bob, clock):
    clock.shift(timedelta(minutes=2))
    assert sign_in(second.code()).status_code == 200

    rows = Api(a_token(bob)).get(of(bob, "totp-devices")).json()["results"]
    assert [set(row) for row in rows] == [{"id", "created_at", "name", "last_used_at"}] * 2
    assert [(row["name"], row["last_used_at"] is None) for row in rows] == [("", True), ("tablet", False)]
    assert sign_in(first.code()).status_code == 200
    assert not TotpDevice.objects.filter(last_used_at=None).exists()


def test_another_app_keeps_recovery_codes_and_sessions_and_forgets_remembered_browsers(first, fresh, bob):
    a_token(bob)
    RememberedDevice.objects.create(
        user=bob, digest="x", session_version=1, expires_at=MOMENT + OLD, client_ip="203.0.113.7"
    )
    codes, sessions = set(RecoveryCode.objects.values_list("digest")), Session.objects.filter(revoked_at=None).count()

    another(fresh, bob, "tablet")

    assert set(RecoveryCode.objects.values_list("digest")) == codes
    assert Session.objects.filter(revoked_at=None).count() == sessions
    assert not RememberedDevice.objects.exists()
    assert SecurityEvent.objects.get(kind="totp-device.added").detail["device"] == "tablet"


def test_another_app_needs_a_name_and_waits_for_its_code(first, fresh, bob, clock):
    assert code_of(fresh.post(of(bob, "totp/setup"), {})) == (409, "totp-enabled")
    waiting = App(secret_of(fresh.post(of(bob, "totp/setup"), {"name": "tablet"}).json()["secret"]))

    assert names(fresh, bob) == [""]
    assert code_of(sign_in(waiting.code())) == (401, "invalid-code")
    assert code_of(fresh.post(of(bob, "totp/confirm"), {"code": first.code()})) == (400, "invalid-code")


def test_an_abandoned_setup_leaves_confirmed_apps_unchanged(first, fresh, bob, clock):
    for name in ("tablet", "watch"):
        fresh.post(of(bob, "totp/setup"), {"name": name})

    assert bob.totp_devices.count() == 2  # the first one, and the latest pending one
    assert sign_in(first.code()).status_code == 200


def test_there_are_at_most_five(first, fresh, bob):
    for number in range(2, 6):
        another(fresh, bob, f"app {number}")

    assert code_of(fresh.post(of(bob, "totp/setup"), {"name": "app 6"})) == (409, "too-many-totp-devices")
    assert bob.totp_devices.count() == totp.MAX_DEVICES


def test_an_app_can_be_renamed(second, fresh, bob):
    path = f"{of(bob, 'totp-devices')}/{row_of(bob, 'tablet').pk}"

    assert fresh.put(path, {"name": "old tablet"}).json()["name"] == "old tablet"
    assert code_of(fresh.put(path, {"name": ""}))[0] == 400
    assert code_of(fresh.put(path, {"name": "x" * 101}))[0] == 400
    assert names(fresh, bob) == ["", "old tablet"]


def test_codes_of_a_removed_app_end_at_once_and_the_others_stay(first, second, fresh, bob, clock):
    assert fresh.delete(f"{of(bob, 'totp-devices')}/{row_of(bob, '').pk}").status_code == 204
    clock.shift(timedelta(minutes=2))

    assert code_of(sign_in(first.code())) == (401, "invalid-code")
    assert sign_in(second.code()).status_code == 200
    assert RecoveryCode.objects.count() == 10
    event = SecurityEvent.objects.get(kind="totp-device.removed")
    assert event.detail == {"actor": "Bob", "device": ""}


def test_removing_the_last_app_deletes_the_recovery_codes(second, fresh, bob):
    for name in ("", "tablet"):
        assert fresh.delete(f"{of(bob, 'totp-devices')}/{row_of(bob, name).pk}").status_code == 204

    assert fresh.get(f"/users/{bob.pk}").json()["totp_enabled"] is False
    assert not RecoveryCode.objects.exists()
    assert SecurityEvent.objects.get(kind="two-factor.disabled").detail["device"] == "tablet"


def test_switching_off_removes_all(second, fresh, bob):
    assert fresh.delete(of(bob, "totp")).status_code == 204

    assert not TotpDevice.objects.exists()


# Attacks


def test_a_code_is_accepted_once_for_each_app_also_while_another_is_used(first, second, clock):
    clock.shift(timedelta(minutes=2))

    assert [sign_in(app.code()).status_code for app in (first, second, first, second)] == [200, 200, 401, 401]


def test_an_app_accepts_no_code_older_than_its_last_one(first, second, clock):
    clock.shift(timedelta(minutes=2))

    assert sign_in(second.code()).status_code == 200
    assert code_of(sign_in(second.code(steps=-1))) == (401, "invalid-code")
    assert sign_in(first.code(steps=-1)).status_code == 200  # each app has its own used steps


def test_guesses_are_counted_over_all_apps(first, second, bob, fresh, clock):
    """Five apps allow no more tries than one."""
    for number in range(3, 6):
        another(fresh, bob, f"app {number}")
    shown = {first.code(steps=steps) for steps in range(-3, 4)}
    guesses = [code for code in second.wrong_codes(40) if code not in shown][:7]

    statuses = [sign_in(code).status_code for code in guesses]

    assert statuses == [401] * 6 + [429]


def test_a_stale_session_adds_and_removes_none_without_a_code(second, bob, first, clock):
    stale = Api(a_token(bob, amr=("pwd", "otp"), at=MOMENT - OLD))
    path = f"{of(bob, 'totp-devices')}/{row_of(bob, 'tablet').pk}"

    for proof, code in (({"password": PASSWORD}, "code-required"), ({"code": "wrong"}, "reauthentication-failed")):
        assert code_of(stale.post(of(bob, "totp/setup"), {"name": "mine", **proof})) == (403, code)
        assert code_of(stale.delete(path, data=proof)) == (403, code)
    assert bob.totp_devices.count() == 2
    assert stale.delete(path, data={"code": first.code()}).status_code == 204


def test_apps_of_other_users_and_pending_ones_are_not_reachable(second, fresh, bob, alice, admin):
    waiting = totp.begin_setup(bob, name="waits", at=MOMENT) and row_of(bob, "waits")
    of_alice = f"{of(alice, 'totp-devices')}/{row_of(bob, 'tablet').pk}"

    for client, path in ((admin, of_alice), (fresh, f"{of(bob, 'totp-devices')}/{waiting.pk}")):
        assert client.get(path).status_code == 404
        assert client.put(path, {"name": "mine"}).status_code == 404
        assert client.delete(path).status_code == 404
    assert fresh.get(of(alice, "totp-devices")).status_code == 403
    assert bob.totp_devices.count() == 3


def test_a_sealed_secret_does_not_open_in_the_row_of_another_user(second, bob, alice, clock):
    app = an_app(alice)
    TotpDevice.objects.filter(user=bob).update(sealed_secret=alice.totp_devices.get().sealed_secret)

    assert code_of(sign_in(app.code())) == (401, "invalid-code")


def test_no_answer_has_the_secret(second, fresh, bob):
    shown = fresh.get(of(bob, "totp-devices")).text + fresh.get(f"{of(bob, 'totp-devices')}/{row_of(bob, '').pk}").text

    assert "sealed" not in shown
    assert not any(row.sealed_secret in shown for row in TotpDevice.objects.all())
