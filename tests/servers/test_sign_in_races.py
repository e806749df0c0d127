"""Concurrent sign-in attempts: a code works once, and no account gets more tries than allowed."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from accounts import hashers
from accounts.models import Challenge, FailureCount, RecoveryCode, Session, TotpDevice, WrongCodes
from accounts.sign_in import password as passwords
from accounts.sign_in import recovery_codes, throttling, totp, totp_codes, wrong_codes
from gatewall.policy import system_settings
from tests.support.concurrency import at_once
from tests.support.processes import PATIENCE
from tests.support.proxies import PASSWORD, Api, a_token
from tests.support.second_factor import App, an_app, secret_of

pytestmark = pytest.mark.django_db(transaction=True)
HERE, THERE = "203.0.113.7", "198.51.100.200"
ONCE = 100
ON_SQLITE = connection.vendor == "sqlite"
OK, SPENT, WRONG, WAIT = (200, None), (401, "invalid-challenge"), (401, "invalid-code"), (429, "too-many-attempts")
LOCKED = (403, "code-entry-locked")
WRONG_PASSWORD = (401, "invalid-credentials")


def call(path, *, at=HERE, token=None, **body):
    """Post, and return status and code."""
    client = Api(token, **{"X-Forwarded-For": at})
    client._client.raise_request_exception = False
    response = client.post(path, body)
    return response.status_code, response.json().get("code")


def outcomes(work, times):
    return Counter(tuple(result) if isinstance(result, list) else result for result in at_once(work, times))


def a_challenge(at=HERE):
    body = {"username": "alice", "password": PASSWORD}
    return Api(**{"X-Forwarded-For": at}).post("/login", body).json()["challenge_token"]


@pytest.fixture
def unlimited(monkeypatch):
    """Lift all limits on guessing, so that only the rules for a single code or challenge apply."""
    monkeypatch.setattr(wrong_codes, "FREE", 1000)
    monkeypatch.setattr(wrong_codes, "ENDS_CHALLENGES", 1000)
    monkeypatch.setattr(wrong_codes, "LOCKS", 1000)
    numbers = ("per_account_and_network", "per_network", "per_account")
    system_settings.change(actor="cast", **{f"login_failures_{name}": 1000 for name in numbers})


@pytest.fixture(autouse=True)
def _long_delay(transactional_db, monkeypatch):
    """Make delays outlast the test, however long a busy machine takes for a hundred calls."""
    system_settings.change(actor="cast", login_delay_seconds=3600)
    monkeypatch.setattr(hashers, "PATIENCE_SECONDS", PATIENCE)
    monkeypatch.setattr(hashers, "SIGN_IN_PATIENCE_SECONDS", PATIENCE)


@pytest.fixture
def checks(tmp_path, monkeypatch):
    """Return a function that counts the passwords checked by all processes."""
    path = Path(tmp_path / "checks")
    real = passwords.check_password

    def counted(*arguments):
        with path.open("ab", buffering=0) as file:
            file.write(b".")
        return real(*arguments)

    path.touch()
    monkeypatch.setattr(passwords, "check_password", counted)
    return lambda: path.stat().st_size


@pytest.mark.usefixtures("unlimited")
def test_a_hundred_concurrent_uses_of_one_code_succeed_once(alice):
    app = an_app(alice)
    tokens = [a_challenge() for _ in range(ONCE)]
    code = app.code()

    got = outcomes(lambda number: call("/login/2fa", challenge_token=tokens[number], code=code), ONCE)

    assert got == {OK: 1, WRONG: ONCE - 1}
    assert Session.objects.count() == 1


@pytest.mark.usefixtures("unlimited")
def test_a_hundred_concurrent_uses_of_one_recovery_code_succeed_once(alice):
    code, tokens = an_app(alice).recovery_codes[0], [a_challenge() for _ in range(ONCE)]

    got = outcomes(lambda number: call("/login/2fa", challenge_token=tokens[number], code=code), ONCE)

    assert got == {OK: 1, WRONG: ONCE - 1}
    assert RecoveryCode.objects.count() == recovery_codes.CODES - 1


@pytest.mark.usefixtures("unlimited")
def test_a_challenge_with_many_right_codes_opens_one_session(alice):
    app, token = an_app(alice), a_challenge()
    codes = [app.code(), *app.recovery_codes[:4]]

    got = outcomes(lambda number: call("/login/2fa", challenge_token=token, code=codes[number]), len(codes))

    assert got[OK] == 1
    assert got[OK] + got[SPENT] == len(codes)
    assert Session.objects.count() == 1


@pytest.mark.usefixtures("unlimited")
def test_a_challenge_has_five_tries_under_concurrency(alice):
    app, token = an_app(alice), a_challenge()
    codes = app.wrong_codes(ONCE)

    got = outcomes(lambda number: call("/login/2fa", challenge_token=token, code=codes[number]), ONCE)

    assert got == {WRONG: 5, SPENT: ONCE - 5}
    assert Challenge.objects.get().tries == 5
    assert call("/login/2fa", challenge_token=token, code=app.code()) == SPENT


def test_ten_of_two_hundred_concurrent_wrong_passwords_are_checked(alice, checks):
    got = outcomes(lambda number: call("/login", username="alice", password=f"wrong {number}"), 200)

    assert got == {WRONG_PASSWORD: 10, WAIT: 190}
    assert checks() == 10
    assert call("/login", username="alice", password=PASSWORD) == WAIT
    assert call("/login", username="alice", password=PASSWORD, at=THERE) == OK


def test_a_hundred_of_two_hundred_concurrent_names_from_one_network_are_checked(alice, checks):
    got = outcomes(lambda number: call("/login", username=f"guess-{number}", password="wrong"), 200)

    assert got == {WRONG_PASSWORD: 100, WAIT: 100}
    assert checks() == 100


def test_concurrent_guesses_from_many_addresses_are_checked_up_to_the_limit(alice, checks):
    system_settings.change(actor="cast", login_failures_per_account=20)

    got = outcomes(lambda number: call("/login", username="alice", password="wrong", at=f"192.0.2.{number}"), ONCE)

    assert got == {WRONG_PASSWORD: 20, WAIT: ONCE - 20}
    assert checks() == 20


def test_the_right_password_among_concurrent_wrong_ones_is_checked_within_the_limit(alice, checks):
    passwords = ["wrong"] * 99 + [PASSWORD]

    got = outcomes(lambda number: call("/login", username="alice", password=passwords[number]), ONCE)

    assert set(got) <= {OK, WRONG_PASSWORD, WAIT}
    assert got[OK] <= 1
    assert checks() <= 20  # a success in between clears the count once


@pytest.mark.usefixtures("unlimited")
def test_many_right_sign_ins_at_once_leave_no_failure_behind(alice):
    got = outcomes(lambda _: call("/login", username="alice", password=PASSWORD), ONCE)

    assert got == {OK: ONCE}
    assert set(FailureCount.objects.values_list("failures", flat=True)) <= {0}


@pytest.mark.usefixtures("unlimited")
def test_in_a_flood_right_sign_ins_succeed_and_each_wrong_one_is_counted(alice, monkeypatch):
    """SQLite's timeout is that of an installation, not the minute of other tests."""
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout" if ON_SQLITE else "connect_timeout", 5)

    def work(number):
        right = number % 10 == 0
        who = {"username": "alice", "password": PASSWORD if right else f"wrong {number}"}
        return [right, *call("/login", **who, at=f"192.0.2.{number}")]

    got = outcomes(work, 200)

    assert got == {(True, *OK): 20, (False, *WRONG_PASSWORD): 180}
    assert sum(FailureCount.objects.filter(scope="network").values_list("failures", flat=True)) == 180
    assert FailureCount.objects.get(scope="account").failures == 180


def test_six_of_many_concurrent_wrong_codes_from_many_networks_are_checked(alice):
    app = an_app(alice)
    tokens, codes = [a_challenge() for _ in range(ONCE)], app.wrong_codes(ONCE)

    def guess(number):
        return call("/login/2fa", challenge_token=tokens[number], code=codes[number], at=f"192.{number}.2.7")

    assert outcomes(guess, ONCE) == {WRONG: 6, WAIT: ONCE - 6}
    assert WrongCodes.objects.get().number == 6


def test_the_hundredth_wrong_code_locks_under_concurrency(alice):
    app = an_app(alice)
    tokens, codes = [a_challenge() for _ in range(20)], app.wrong_codes(20)
    WrongCodes.objects.create(user=alice, number=99)

    def guess(number):
        return call("/login/2fa", challenge_token=tokens[number], code=codes[number], at=f"192.{number}.2.7")

    got = outcomes(guess, 20)

    assert (got[WRONG], got[WRONG] + got[LOCKED] + got[SPENT]) == (1, 20)
    assert WrongCodes.objects.get().number == 100


def test_recovery_while_wrong_codes_are_entered_is_answered(alice, settings):
    settings.GATEWALL_ADMIN_RECOVERY_KEY = "the key of this test"
    app = an_app(alice)
    token, wrong = a_challenge(), app.wrong
    body = {"username": "alice", "password": PASSWORD, "recovery_key": settings.GATEWALL_ADMIN_RECOVERY_KEY}

    def work(number):
        if number % 10:
            return call("/login/2fa", challenge_token=token, code=wrong, at=f"192.{number}.2.7")
        return Api().post("/admin-recover-2fa", body, REMOTE_ADDR="127.0.0.1", HTTP_HOST="localhost").status_code

    got = outcomes(work, 20)

    assert got[204] == 2
    assert set(got) <= {204, WRONG, SPENT, WAIT}


@pytest.mark.usefixtures("unlimited")
def test_a_setup_is_confirmed_once(alice):
    token = a_token(alice)
    app = App(secret_of(Api(token).post(f"/users/{alice.pk}/totp/setup", {}).json()["secret"]))
    code = app.code()

    def confirm(_):
        client = Api(token)
        client._client.raise_request_exception = False
        response = client.post(f"/users/{alice.pk}/totp/confirm", {"code": code})
        return response.json().get("recovery_codes") or [response.status_code, response.json()["code"]]

    results = at_once(confirm, 20)

    shown = [result for result in results if len(result) == recovery_codes.CODES]
    assert len(shown) == 1
    assert [result for result in results if result not in shown] == [[409, "totp-enabled"]] * 19
    tokens = [a_challenge() for _ in shown[0]]
    got = [call("/login/2fa", challenge_token=token, code=code) for token, code in zip(tokens, shown[0], strict=True)]
    assert got == [OK] * recovery_codes.CODES


def test_setups_at_once_leave_one_secret_that_was_shown(alice):
    token = a_token(alice)

    results = at_once(lambda _: Api(token).post(f"/users/{alice.pk}/totp/setup", {}).json()["secret"], 20)

    device = TotpDevice.objects.get()
    assert totp_codes.base32(totp._secret(device)) in results


@pytest.mark.usefixtures("unlimited")
def test_sign_ins_while_the_failures_are_pruned_are_answered(alice):
    def work(number):
        if number % 2:
            throttling.prune(timezone.now() + timedelta(days=1))
            return None
        return call("/login", username=f"guess-{number % 3}", password="wrong")

    got = outcomes(work, ONCE)

    assert got == {None: ONCE // 2, WRONG_PASSWORD: ONCE // 2}


def test_a_database_failure_while_counting_lets_nobody_in(alice, checks):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE accounts_failurecount RENAME TO accounts_failurecount_gone")
    try:
        got = outcomes(lambda _: call("/login", username="alice", password=PASSWORD), 20)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE accounts_failurecount_gone RENAME TO accounts_failurecount")

    assert {status for status, _ in got} <= {500, 503}
    assert checks() == 0
    assert not Session.objects.exists()
