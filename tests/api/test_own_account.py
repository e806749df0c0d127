"""The own second factor: enable, disable, and re-authentication in stale sessions."""

from datetime import timedelta

import pytest

from accounts.models import FailureCount, RecoveryCode, TotpDevice
from tests.api.own import AUDIENCES, NEW, OLD, of
from tests.support.cast import MOMENT
from tests.support.proxies import PASSWORD, Api, a_token, code_of
from tests.support.second_factor import App, an_app, secret_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def stale(clock, bob):
    return Api(a_token(bob, at=MOMENT - OLD))


def enrol(client, user, **body):
    """Set up and enable the second factor; return its authenticator app."""
    app = App(secret_of(client.post(of(user, "totp/setup"), body).json()["secret"]))
    app.recovery_codes = client.post(of(user, "totp/confirm"), {"code": app.code()}).json()["recovery_codes"]
    return app


def test_a_setup_shows_secret_uri_and_both_codes(fresh, bob):
    body = fresh.post(of(bob, "totp/setup"), {}).json()

    assert set(body) == {"secret", "otpauth_uri", "qr_code", "qr_svg"}
    assert body["otpauth_uri"].startswith(f"otpauth://totp/Gatewall:Bob?secret={body['secret']}&")
    assert body["qr_code"].startswith("data:image/png;base64,")
    assert "<svg" in body["qr_svg"]


def test_a_setup_is_pending_until_a_code_confirms_it(fresh, bob):
    app = App(secret_of(fresh.post(of(bob, "totp/setup"), {}).json()["secret"]))
    assert fresh.get(f"/users/{bob.pk}").json()["totp_enabled"] is False

    assert code_of(fresh.post(of(bob, "totp/confirm"), {"code": app.wrong})) == (400, "invalid-code")
    assert fresh.get(f"/users/{bob.pk}").json()["totp_enabled"] is False
    codes = fresh.post(of(bob, "totp/confirm"), {"code": app.code()}).json()["recovery_codes"]

    assert fresh.get(f"/users/{bob.pk}").json()["totp_enabled"] is True
    assert len(set(codes)) == 10
    assert {len(code.replace("-", "")) for code in codes} == {16}


def test_a_second_setup_replaces_the_secret_that_waited(fresh, bob):
    first, second = (App(secret_of(fresh.post(of(bob, "totp/setup"), {}).json()["secret"])) for _ in range(2))

    assert fresh.post(of(bob, "totp/confirm"), {"code": first.code()}).status_code == 400
    assert fresh.post(of(bob, "totp/confirm"), {"code": second.code()}).status_code == 200


def test_the_code_of_the_confirmation_cannot_be_used_again(fresh, bob, clock):
    app = enrol(fresh, bob)
    challenge = Api().post("/login", {"username": "Bob", "password": PASSWORD}).json()["challenge_token"]

    response = Api().post("/login/2fa", {"challenge_token": challenge, "code": app.code()})

    assert code_of(response) == (401, "invalid-code")


def test_an_enabled_second_factor_cannot_be_set_up_again(fresh, bob):
    app = enrol(fresh, bob)

    assert code_of(fresh.post(of(bob, "totp/setup"), {})) == (409, "totp-enabled")
    assert code_of(fresh.post(of(bob, "totp/confirm"), {"code": app.code()})) == (409, "totp-enabled")


def test_nothing_is_confirmed_that_was_not_set_up(fresh, bob):
    assert {code_of(fresh.post(of(bob, "totp/confirm"), {"code": "123456"})) for _ in range(12)} == {
        (409, "totp-not-set-up")
    }


def test_wrong_codes_of_a_setup_count_as_everywhere(stale, fresh, bob):
    app = App(secret_of(fresh.post(of(bob, "totp/setup"), {}).json()["secret"]))
    statuses = [stale.post(of(bob, "totp/confirm"), {"code": code}).status_code for code in app.wrong_codes(7)]

    assert statuses == [400] * 6 + [429]
    assert not TotpDevice.objects.filter(confirmed_at__isnull=False).exists()


def test_the_secret_is_sealed_and_the_codes_are_digests_in_their_rows(fresh, bob):
    app = enrol(fresh, bob)
    rows = str([*TotpDevice.objects.values(), *RecoveryCode.objects.values()])

    assert app.secret.hex() not in rows
    for secret in (app.secret.decode("latin-1"), *app.recovery_codes):
        assert secret not in rows
        assert secret.replace("-", "") not in rows


CALLS = {
    "setup": lambda client, user, body: client.post(of(user, "totp/setup"), body),
    "off": lambda client, user, body: client.delete(of(user, "totp"), data=body),
    "off by POST": lambda client, user, body: client.post(of(user, "totp/disable"), body),
}
OFF = pytest.mark.parametrize("call", ["off", "off by POST"])


def prepared(call, user):
    return an_app(user) if call.startswith("off") else None


@pytest.mark.parametrize("call", CALLS)
def test_a_fresh_session_is_not_asked_again(fresh, bob, call):
    prepared(call, bob)

    assert CALLS[call](fresh, bob, {}).status_code in {200, 204}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "reauthentication-required"),
        ({"password": "wrong"}, "reauthentication-failed"),
        ({"password": PASSWORD + "x" * 200}, "reauthentication-failed"),
    ],
    ids=["nothing", "wrong", "too long"],
)
def test_a_session_of_ten_minutes_is_asked_for_the_password(stale, bob, body, code):
    assert code_of(CALLS["setup"](stale, bob, body)) == (403, code)
    assert not TotpDevice.objects.exists()


def test_an_old_session_with_the_password_may_set_up_a_second_factor(stale, bob):
    assert CALLS["setup"](stale, bob, {"password": PASSWORD}).status_code == 200


@OFF
def test_a_stale_session_needs_a_code_to_disable_the_second_factor(stale, bob, call):
    app = an_app(bob)

    assert code_of(CALLS[call](stale, bob, {"password": PASSWORD})) == (403, "code-required")
    assert code_of(CALLS[call](stale, bob, {"code": app.wrong})) == (403, "reauthentication-failed")
    assert CALLS[call](stale, bob, {"code": app.code()}).status_code == 204
    assert not TotpDevice.objects.exists()
    assert not RecoveryCode.objects.exists()


def test_a_code_that_was_used_at_sign_in_switches_nothing_off(stale, bob):
    app = an_app(bob)
    challenge = Api().post("/login", {"username": "Bob", "password": PASSWORD}).json()["challenge_token"]
    code = app.code()
    assert Api().post("/login/2fa", {"challenge_token": challenge, "code": code}).status_code == 200

    assert CALLS["off"](stale, bob, {"code": code}).status_code == 403


def test_a_wrong_code_is_refused_even_with_the_right_password(stale, bob):
    app = an_app(bob)

    assert CALLS["off"](stale, bob, {"code": app.wrong, "password": PASSWORD}).status_code == 403


def test_guesses_in_a_stolen_session_are_slowed_down(stale, bob):
    statuses = [CALLS["setup"](stale, bob, {"password": "wrong"}).status_code for _ in range(11)]

    assert statuses == [403] * 10 + [429]
    assert CALLS["setup"](stale, bob, {"password": PASSWORD}).status_code == 429


@OFF
def test_guesses_of_codes_in_a_stolen_session_are_slowed_down(stale, bob, call):
    app = an_app(bob)

    assert [CALLS[call](stale, bob, {"code": code}).status_code for code in app.wrong_codes(7)] == [403] * 6 + [429]


def test_the_right_password_is_no_failure_and_clears_none(stale, bob):
    assert CALLS["setup"](stale, bob, {"password": "wrong"}).status_code == 403
    assert {CALLS["setup"](stale, bob, {"password": PASSWORD}).status_code for _ in range(12)} == {200}

    assert FailureCount.objects.get(scope="pair").failures == 1


@OFF
def test_a_disabled_second_factor_cannot_be_switched_off(fresh, bob, call):
    assert CALLS[call](fresh, bob, {}).status_code == 404


@OFF
def test_a_pending_setup_is_not_enabled(fresh, bob, call):
    fresh.post(of(bob, "totp/setup"), {})

    assert CALLS[call](fresh, bob, {}).status_code == 404


@pytest.mark.parametrize("call", CALLS)
def test_an_admin_proves_their_own_password_for_the_factor_of_another(clock, alice, bob, call):
    prepared(call, bob)
    admin = Api(a_token(alice, at=MOMENT - timedelta(hours=2)))

    assert code_of(CALLS[call](admin, bob, {})) == (403, "reauthentication-required")
    assert CALLS[call](admin, bob, {"password": PASSWORD}).status_code in {200, 204}


@pytest.mark.parametrize("call", CALLS)
def test_an_admin_is_asked_for_their_own(clock, alice, call):
    has_factor = prepared(call, alice)
    admin = Api(a_token(alice, at=MOMENT - timedelta(hours=2)))

    asked = "code-required" if has_factor else "reauthentication-required"
    assert code_of(CALLS[call](admin, alice, {})) == (403, asked)


def test_leading_zeros_in_the_id_do_not_bypass_the_own_account_check(clock, alice):
    admin = Api(a_token(alice, at=MOMENT - timedelta(hours=2)))
    path = f"/users/0{alice.pk}"

    assert code_of(admin.post(f"{path}/totp/setup", {})) == (403, "reauthentication-required")
    assert code_of(admin.put(f"{path}/password", {"new_password": NEW})) == (403, "reauthentication-required")


@AUDIENCES
def test_a_session_of_the_guard_page_may_manage_the_account_of_its_user(bob, audiences):
    client = Api(a_token(bob, audiences=audiences))

    codes = enrol(client, bob).recovery_codes
    assert client.delete(of(bob, "totp"), data={"code": codes[0]}).status_code == 204
