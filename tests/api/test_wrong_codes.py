"""Wrong second-factor codes are limited per account, over all networks and routes."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts import services
from accounts.models import Challenge, User, WrongCodes
from accounts.sign_in import challenges, code_entry, wrong_codes
from accounts.sign_in.throttling import TooManyAttempts
from accounts.sign_in.wrong_codes import CodeEntryLocked
from audit.models import SecurityEvent
from tests.api.guessing import FIRST_DELAY, THERE, challenge, fail, finish, guess, number, waits
from tests.support.cast import MOMENT
from tests.support.form import FULL
from tests.support.proxies import PASSWORD, Api, a_token

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clock")]

JUDGED_IN_A_DAY = 35
"""docs/security.md"""


def test_after_five_wrong_codes_each_one_doubles_the_delay_for_all_networks(app, clock):
    delays = []
    for index, code in enumerate(app.wrong_codes(13)):
        where = f"198.51.{index}.7"
        assert finish(challenge(where), code, at=where).json()["code"] == "invalid-code"
        if index >= 5:
            refused = finish(challenge(THERE), app.code(), at=THERE)
            delays.append(waits(refused))
            clock.shift(delays[-1])

    assert delays == [30, 60, 120, 240, 480, 960, 1920, 3600]


def test_six_of_240_codes_from_one_56_network_are_checked(app):
    """The default form sends only the first forty; the others would get the same answer."""
    answers, mine, sent = [], challenge(), 240 if FULL else 40
    for index, code in enumerate(app.wrong_codes(sent)):
        where = f"2001:db8:0:{index // 10:x}::7"
        mine = challenge(where) if index % 5 == 0 else mine
        answers.append(finish(mine, code, at=where).json()["code"])

    assert answers == ["invalid-code"] * 6 + ["too-many-attempts"] * (sent - 6)


def test_at_most_the_documented_number_of_codes_a_day_is_checked(app, alice):
    at, checked = MOMENT, 0
    while at < MOMENT + timedelta(days=1):
        try:
            wrong_codes.take(alice, at)
        except TooManyAttempts as refused:
            at += timedelta(seconds=refused.retry_after_seconds)
        else:
            checked += 1

    assert 20 < checked <= JUDGED_IN_A_DAY


def test_at_most_a_hundred_codes_a_month_are_checked(app, alice):
    checked = 0
    for hour in range(31 * 24):
        try:
            wrong_codes.take(alice, MOMENT + timedelta(hours=hour))
        except CodeEntryLocked:
            continue
        checked += 1

    assert checked == wrong_codes.LOCKS


def test_a_right_code_in_a_completed_sign_in_resets_the_count(app):
    guess(app, 4)

    assert finish(challenge(), app.code()).status_code == 200

    assert number() == 0
    assert guess(app, 4).json()["code"] == "invalid-code"


def test_the_right_password_clears_no_wrong_codes(app):
    guess(app, 4)

    assert challenge().json()["two_factor_required"] is True

    assert number() == 4


def test_a_refused_code_is_not_counted_and_costs_no_try_of_its_challenge(app):
    guess(app, 6)
    WrongCodes.objects.update(blocked_until=timezone.now() + timedelta(seconds=FIRST_DELAY))
    guessed = list(Challenge.objects.values_list("pk", flat=True))
    mine = challenge()

    assert {waits(finish(mine, app.code())) for _ in range(9)} == {FIRST_DELAY}

    assert (number(), Challenge.objects.exclude(pk__in=guessed).get().tries) == (6, 0)


def test_a_code_from_a_throttled_network_is_not_counted(app):
    mine = challenge()
    fail(10)

    assert waits(finish(mine, app.code())) == FIRST_DELAY

    assert (number(), WrongCodes.objects.get().blocked_until) == (0, None)


def test_a_code_whose_challenge_ends_before_it_is_checked_is_not_counted(app, monkeypatch):
    guess(app, wrong_codes.ENDS_CHALLENGES - 1)
    WrongCodes.objects.update(blocked_until=None)
    mine, counted = challenge(), code_entry.begin

    def count_while_another_request_uses_the_tries_up(*arguments, **options):
        Challenge.objects.update(tries=challenges.MAX_TRIES)
        return counted(*arguments, **options)

    monkeypatch.setattr(code_entry, "begin", count_while_another_request_uses_the_tries_up)
    assert finish(mine, app.wrong).json()["code"] == "invalid-challenge"
    monkeypatch.setattr(code_entry, "begin", counted)

    assert number() == wrong_codes.ENDS_CHALLENGES - 1
    assert WrongCodes.objects.get().blocked_until is None
    assert finish(challenge(), app.wrong).json()["code"] == "invalid-code"
    assert SecurityEvent.objects.filter(kind="client.suspected").count() == 1  # the tenth code that was checked


def test_the_tenth_wrong_code_in_a_row_ends_all_challenges_with_an_event(app, alice):
    guess(app, 9)
    mine = challenge()
    assert not SecurityEvent.objects.filter(kind="client.suspected").exists()

    guess(app, 1)

    WrongCodes.objects.update(blocked_until=None)
    assert finish(mine, app.code()).json()["code"] == "invalid-challenge"
    event = SecurityEvent.objects.get(kind="client.suspected")
    assert (event.severity, event.user_id, event.client_ip) == ("high", alice.pk, THERE)
    assert event.detail == {
        "detector": "wrong-codes",
        "why": "right-password",
        "flow": "login",
        "wrong_codes": 10,
        "locked": False,
    }


@pytest.fixture
def locked(app):
    """Lock code entry with a hundred wrong codes; return the app."""
    guess(app, 9)
    WrongCodes.objects.update(number=99)
    assert guess(app, 1).json()["code"] == "invalid-code"
    WrongCodes.objects.update(blocked_until=None)
    return app


def test_after_a_hundred_wrong_codes_in_a_row_no_code_of_the_app_is_accepted(locked, clock):
    clock.shift(timedelta(days=365))

    refused = finish(challenge(), locked.code())

    assert (refused.status_code, refused.json()["code"]) == (403, "code-entry-locked")
    assert [event.detail["locked"] for event in SecurityEvent.objects.filter(kind="client.suspected")] == [True]


def test_password_and_recovery_code_end_the_lock(locked):
    assert finish(challenge(), locked.recovery_codes[0]).status_code == 200

    assert finish(challenge(), locked.code()).status_code == 200


def test_recovery_codes_are_throttled_too_while_codes_are_locked(locked):
    assert finish(challenge(), "0000-0000-0000-0000").json()["code"] == "invalid-code"

    assert waits(finish(challenge(), locked.recovery_codes[0])) == 3600


def test_recovery_by_the_key_ends_the_lock(locked, settings):
    settings.GATEWALL_ADMIN_RECOVERY_KEY = "a recovery key of this test"
    body = {"username": "alice", "password": PASSWORD, "recovery_key": settings.GATEWALL_ADMIN_RECOVERY_KEY}

    answer = Api().post("/admin-recover-2fa", body, REMOTE_ADDR="127.0.0.1", HTTP_HOST="localhost:9999")

    assert answer.status_code == 204
    assert number() == 0


def test_the_command_ends_the_lock(locked):
    call_command("recover_admin_2fa", "alice")

    assert number() == 0


def test_an_admin_unlocks_code_entry_and_the_factor_stays(locked, bob, alice):
    services.change_user(bob, actor="cast", is_admin=True)
    admin = Api(a_token(User.objects.get(pk=bob.pk)))
    assert admin.get(f"/users/{alice.pk}").json()["code_entry_locked"] is True

    assert admin.post(f"/users/{alice.pk}/totp/unlock", {}).status_code == 204

    assert admin.get(f"/users/{alice.pk}").json()["code_entry_locked"] is False
    assert finish(challenge(), locked.code()).status_code == 200
    assert SecurityEvent.objects.filter(kind="user.changed").exists()


def test_codes_of_a_setup_count_as_well(alice, clock):
    client = Api(a_token(alice))
    client.post(f"/users/{alice.pk}/totp/setup", {})

    answers = [client.post(f"/users/{alice.pk}/totp/confirm", {"code": "recovery"}).status_code for _ in range(7)]

    assert answers == [400] * 6 + [429]


def test_a_new_second_factor_begins_with_no_wrong_codes(locked, alice):
    token = a_token(alice, amr=("pwd", "otp"))
    assert Api(token).delete(f"/users/{alice.pk}/totp").status_code == 204

    assert number() == 0


def test_delays_of_a_clock_that_was_put_back_end_within_an_hour(app, alice):
    WrongCodes.objects.create(user=alice, number=7, blocked_until=MOMENT + timedelta(days=900))

    assert wrong_codes.follow_the_clock(MOMENT) == 0

    with pytest.raises(TooManyAttempts) as caught:
        wrong_codes.take(alice, MOMENT)
    assert caught.value.retry_after_seconds == 3600


def test_users_unlock_code_entry_with_a_recovery_code_only(locked, app, alice):
    path = f"/users/{alice.pk}/totp/unlock"
    client = Api(a_token(alice, at=timezone.now() - timedelta(hours=1)))
    assert client.post(path, {"password": PASSWORD}).json()["code"] == "code-required"
    assert client.post(path, {"code": app.code()}).json()["code"] == "code-entry-locked"
    assert number() == 100

    assert client.post(path, {"code": app.recovery_codes[0]}).status_code == 204

    assert number() == 0
