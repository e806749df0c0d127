"""Concurrent sign-ins in one process: a few are processed at a time, and the others wait for a bounded time."""

import threading
import time
from contextlib import ExitStack

import pytest
from django.db import connection

from accounts import hashers
from accounts.hashers import SIGN_INS_AT_ONCE as AT_ONCE
from accounts.models import FailureCount
from accounts.sign_in import events as sign_in_events
from accounts.sign_in import password as passwords
from tests.support.proxies import PASSWORD, Api

pytestmark = pytest.mark.django_db(transaction=True)
VISITORS = 12


def sign_in(number, password="wrong"):
    client = Api(**{"X-Forwarded-For": f"192.0.2.{number}"})
    client._client.raise_request_exception = False
    return client.post("/login", {"username": "alice", "password": password})


def all_together(work, times):
    answers = []

    def run(number):
        try:
            answers.append(work(number))
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[number]) for number in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.fixture
def in_flight(monkeypatch):
    """Return a list with the number of sign-ins between attempt count and password check, at each start of one."""
    counted, checked, seen, now = sign_in_events.attempt, passwords.verify, [], []

    def count(*arguments, **options):
        now.append(1)
        seen.append(len(now))
        time.sleep(0.02)
        return counted(*arguments, **options)

    def check(*arguments):
        now.pop()
        return checked(*arguments)

    monkeypatch.setattr(sign_in_events, "attempt", count)
    monkeypatch.setattr(passwords, "verify", check)
    return seen


def test_few_sign_ins_are_processed_at_a_time_and_all_are_answered(alice, in_flight):
    answers = all_together(sign_in, VISITORS)

    assert [answer.status_code for answer in answers] == [401] * VISITORS
    assert max(in_flight) <= AT_ONCE
    assert len(in_flight) == VISITORS
    assert sorted(FailureCount.objects.filter(scope="network").values_list("failures", flat=True)) == [1] * VISITORS


@pytest.fixture
def all_places_taken(monkeypatch):
    monkeypatch.setattr(hashers, "SIGN_IN_PATIENCE_SECONDS", 0.01)
    with ExitStack() as taken:
        for _ in range(AT_ONCE):
            taken.enter_context(hashers.limit_concurrency())
        yield


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/login", {"username": "alice", "password": PASSWORD}),
        ("/admin-login", {"username": "alice", "password": PASSWORD}),
    ],
)
def test_an_overloaded_sign_in_is_429_with_retry_after_and_not_counted(alice, all_places_taken, path, body):
    response = Api().post(path, body)

    assert (response.status_code, response.json()["code"]) == (429, "too-busy")
    assert int(response.headers["Retry-After"]) > 0
    assert not FailureCount.objects.exists()


def test_every_sign_in_releases_its_place(alice, monkeypatch):
    monkeypatch.setattr(hashers, "SIGN_IN_PATIENCE_SECONDS", 0.0)

    answers = [sign_in(1, password).status_code for password in ["wrong", PASSWORD] * AT_ONCE]

    assert answers == [401, 200] * AT_ONCE
