"""Throttling of sign-in failures: shared by all sign-in routes, and not applied where nothing was guessed."""

from datetime import timedelta

import pytest
from django.contrib.auth import hashers
from django.db import OperationalError
from django.utils import timezone

from accounts import services
from accounts.hashers import TooBusy
from accounts.models import Challenge, Session
from accounts.sign_in import throttling
from gatewall.policy import system_settings
from tests.api.guessing import FIRST_DELAY, HERE, THERE, counts, fail, finish, sign_in, waits
from tests.support.proxies import PASSWORD, Api, a_token
from tests.support.second_factor import an_app

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock", "alice", "bob")]


@pytest.mark.parametrize("username", ["alice", "nobody", "no name at all; --", "Bob"])
def test_after_ten_failures_sign_in_is_delayed(username):
    services.change_user(services.User.objects.get(username="Bob"), actor="cast", is_active=False)

    assert fail(10, username) == 401
    assert waits(sign_in(username)) == FIRST_DELAY


def test_the_delay_doubles_up_to_an_hour(clock):
    fail(10)
    delays = []
    for _ in range(10):
        delays.append(waits(sign_in()))
        clock.shift(delays[-1])
        fail(1)

    assert delays == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_refused_attempts_do_not_count(clock):
    fail(10)

    assert {waits(sign_in()) for _ in range(20)} == {FIRST_DELAY}
    assert counts() == {"account": 10, "pair": 10, "network": 10, "network-24": 10}


def test_the_right_password_is_delayed_too_and_accepted_afterwards(clock):
    fail(10)
    assert waits(sign_in(password=PASSWORD)) == FIRST_DELAY
    clock.shift(FIRST_DELAY - 0.5)
    assert waits(sign_in(password=PASSWORD)) == 1

    clock.shift(0.5)

    assert sign_in(password=PASSWORD).status_code == 200


@pytest.mark.parametrize(("minutes", "status"), [(14, 429), (15, 401)])
def test_failures_are_forgotten_after_their_window(clock, minutes, status):
    fail(9)
    clock.shift(timedelta(minutes=minutes))

    assert fail(1) == 401
    assert sign_in().status_code == status


def test_after_the_delay_and_a_window_without_failure_all_begins_again(clock):
    fail(10)
    clock.shift(FIRST_DELAY + 15 * 60)

    assert fail(10) == 401


def test_another_network_and_another_account_do_not_wait():
    fail(10)

    assert sign_in(password=PASSWORD, at=THERE).status_code == 200
    assert sign_in("Bob", PASSWORD).status_code == 200


def test_a_completed_sign_in_resets_only_the_count_of_account_and_network():
    fail(9)
    fail(9, at=THERE)
    assert sign_in(password=PASSWORD).status_code == 200

    assert fail(10) == 401
    assert fail(2, at=THERE) == 429


def test_a_network_may_fail_a_hundred_times(clock):
    for number in range(10):
        fail(10, f"guess-{number}")

    assert waits(sign_in("Bob", PASSWORD)) == FIRST_DELAY
    assert sign_in("Bob", PASSWORD, at=THERE).status_code == 200


def test_a_success_with_the_attackers_own_account_does_not_reset_the_network_count():
    for number in range(11):
        fail(9, f"guess-{number}")
        assert sign_in("Bob", PASSWORD).status_code == 200

    assert fail(1, "guess-11") == 401
    assert waits(sign_in("Bob", PASSWORD)) == FIRST_DELAY


@pytest.mark.parametrize("path", ["/login", "/admin-login"])
def test_all_sign_in_routes_share_the_counts(path):
    fail(10, path=path)

    assert sign_in(path="/login").status_code == 429
    assert sign_in(path="/admin-login").status_code == 429


def test_the_right_password_of_a_non_admin_is_no_failure():
    assert {sign_in("Bob", PASSWORD, path="/admin-login").status_code for _ in range(12)} == {403}


def test_the_settings_change_the_numbers(clock):
    system_settings.change(
        actor="cast", login_failures_per_account_and_network=2, login_failure_window_minutes=1, login_delay_seconds=7
    )

    assert fail(3) == 429
    assert waits(sign_in()) == 7
    clock.shift(67)
    assert fail(2) == 401


def test_a_limit_of_one_lets_the_right_password_in(clock):
    system_settings.change(actor="cast", login_failures_per_account_and_network=1)

    assert sign_in(password=PASSWORD).status_code == 200
    assert fail(2) == 429


def test_a_reload_forgets_nothing():
    fail(10)

    assert Api(a_token(services.User.objects.get(username="alice"))).post("/system/reload").status_code == 200

    assert sign_in().status_code == 429


def test_wrong_codes_count_as_wrong_passwords_do(alice):
    app = an_app(alice)
    fail(5)
    challenge = sign_in(password=PASSWORD)
    assert {finish(challenge, code).status_code for code in app.wrong_codes(5)} == {401}

    assert sign_in(password=PASSWORD).status_code == 429
    assert counts()["pair"] == 10


def test_the_right_password_alone_resets_no_count_if_a_code_is_required(alice):
    app = an_app(alice)
    fail(9)
    for _ in range(3):
        challenge = sign_in(password=PASSWORD)
        assert challenge.json()["two_factor_required"] is True

    assert finish(challenge, app.wrong).status_code == 401
    assert sign_in(password=PASSWORD).status_code == 429


def test_a_completed_second_step_resets_the_count(alice):
    app = an_app(alice)
    fail(9)
    assert finish(sign_in(password=PASSWORD), app.code()).status_code == 200

    assert fail(10) == 401


@pytest.mark.parametrize("more", [0, 1, 3])
def test_after_the_delay_password_and_code_sign_in(clock, alice, more):
    app = an_app(alice)
    fail(10)
    for number in range(more + 1):
        clock.shift(FIRST_DELAY * 2**number)
        if number < more:
            fail(1)

    challenge = sign_in(password=PASSWORD)

    assert finish(challenge, app.code()).status_code == 200


def test_a_right_password_makes_no_delay_longer(clock, alice):
    an_app(alice)
    fail(10)
    clock.shift(FIRST_DELAY)
    assert {sign_in(password=PASSWORD).status_code for _ in range(3)} == {200}

    assert fail(1) == 401
    assert waits(sign_in()) == 2 * FIRST_DELAY


def test_a_code_for_a_challenge_that_waits_is_not_tried(alice):
    app = an_app(alice)
    challenge = sign_in(password=PASSWORD)
    fail(10)

    assert waits(finish(challenge, app.code())) == FIRST_DELAY
    assert Challenge.objects.get().tries == 0
    assert finish(challenge, app.code(), at=THERE).status_code == 200


def test_an_invalid_challenge_counts_no_failure():
    body = {"challenge_token": "no.good.token", "code": "123456"}

    assert {Api().post("/login/2fa", body).status_code for _ in range(12)} == {401}
    assert counts() == {}


def test_an_attempt_refused_as_too_busy_is_no_failure(monkeypatch):
    def too_busy(*_, **__):
        raise TooBusy("busy", retry_after_seconds=5)

    with monkeypatch.context() as patched:
        patched.setattr("accounts.sign_in.password.check_password", too_busy)
        answers = [sign_in() for _ in range(12)]

    assert {(answer.status_code, answer.json()["code"]) for answer in answers} == {(429, "too-busy")}
    assert {answer.headers["Retry-After"] for answer in answers} == {"5"}
    assert set(counts().values()) == {0}
    assert sign_in(password=PASSWORD).status_code == 200


def test_a_refused_attempt_costs_no_hash(monkeypatch):
    fail(10)
    monkeypatch.setattr(hashers, "verify_password", lambda *_: pytest.fail("hashed"))

    assert sign_in().status_code == 429


def test_uncounting_after_a_success_does_not_go_below_zero():
    first, second = (throttling.attempt("alice", HERE, timezone.now()) for _ in range(2))
    first.succeeded()

    second.uncount()

    assert counts() == {"account": 0, "network": 0, "network-24": 0, "pair": 0}


@pytest.fixture
def no_database(monkeypatch):
    """Make counting fail, like SQLite after a lock timeout."""

    def locked(*_, **__):
        raise OperationalError("database is locked")

    monkeypatch.setattr("accounts.sign_in.throttling.FailureCount.objects.bulk_create", locked)


@pytest.mark.parametrize("path", ["/login", "/admin-login"])
def test_if_failures_cannot_be_counted_nobody_signs_in(no_database, path):
    client = Api()
    client._client.raise_request_exception = False

    response = client.post(path, {"username": "alice", "password": PASSWORD})

    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert int(response.headers["Retry-After"]) > 0
    assert not response.cookies
    assert not Session.objects.exists()


def test_if_failures_cannot_be_counted_nobody_signs_in_on_the_guard_page(no_database, client):
    client.raise_request_exception = False
    form = f"username=alice&password={PASSWORD}"

    response = client.post("/wall/", form, content_type="application/x-www-form-urlencoded")

    assert response.status_code == 503
    assert int(response.headers["Retry-After"]) > 0
    assert not response.cookies
    assert not Session.objects.exists()
