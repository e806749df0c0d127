"""Password hashes: Argon2id at the minimal cost, two at a time, and one for every guess."""

import threading
import time
from contextlib import ExitStack

import pytest
from argon2 import extract_parameters
from argon2.low_level import Type
from django.contrib.auth.hashers import Argon2PasswordHasher, MD5PasswordHasher, check_password, make_password

from accounts import hashers, services
from accounts.hashers import AT_ONCE, Argon2idHasher, TooBusy
from accounts.sign_in import password as passwords
from tests.support.proxies import PASSWORD

VISITORS = 12


@pytest.fixture
def argon2(settings):
    settings.PASSWORD_HASHERS = ["accounts.hashers.Argon2idHasher"]


@pytest.fixture
def in_flight(monkeypatch):
    """Make hashing slow and cheap; return a list of the numbers of hashes computed at the same time."""
    seen, now, lock = [], [], threading.Lock()

    def slow(result):
        def compute(*_):
            with lock:
                now.append(1)
                seen.append(len(now))
            time.sleep(0.02)
            with lock:
                now.pop()
            return result

        return compute

    monkeypatch.setattr(Argon2PasswordHasher, "verify", slow(result=True))
    monkeypatch.setattr(Argon2PasswordHasher, "encode", slow(result="encoded"))
    return seen


def all_together(*works):
    outcomes = []

    def run(work):
        try:
            outcomes.append(work())
        except TooBusy as error:
            outcomes.append(error)

    threads = [threading.Thread(target=run, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def taken(stack):
    """Occupy every hashing slot until the end of the test."""
    for _ in range(AT_ONCE):
        assert hashers._hash_slots.acquire(blocking=False)
        stack.callback(hashers._hash_slots.release)


def test_a_hash_has_the_cost_that_is_documented(argon2):
    encoded = make_password(PASSWORD)
    parameters = extract_parameters(encoded.removeprefix("argon2"))

    assert parameters.type is Type.ID
    assert (parameters.memory_cost, parameters.time_cost, parameters.parallelism) == (19 * 1024, 2, 1)
    assert check_password(PASSWORD, encoded)
    assert not check_password(PASSWORD + "x", encoded)
    assert make_password(PASSWORD) != encoded


def test_the_number_of_concurrent_hashes_is_limited(in_flight):
    hasher = Argon2idHasher()

    outcomes = all_together(
        *[lambda: hasher.verify(PASSWORD, "encoded")] * VISITORS, *[lambda: hasher.encode(PASSWORD, "salt")] * VISITORS
    )

    assert len(outcomes) == 2 * VISITORS
    assert max(in_flight) == AT_ONCE


def test_hashing_that_waits_too_long_is_too_busy(in_flight, monkeypatch):
    monkeypatch.setattr(hashers, "PATIENCE_SECONDS", 0.01)
    with ExitStack() as stack:
        taken(stack)

        for work in (lambda: Argon2idHasher().verify(PASSWORD, "x"), lambda: Argon2idHasher().encode(PASSWORD, "x")):
            with pytest.raises(TooBusy) as refused:
                work()
            assert refused.value.retry_after_seconds >= 1

    assert in_flight == []
    assert Argon2idHasher().verify(PASSWORD, "encoded")


def test_a_failed_hash_releases_its_slot(monkeypatch):
    def broken(*_):
        raise MemoryError

    monkeypatch.setattr(Argon2PasswordHasher, "verify", broken)
    for _ in range(AT_ONCE + 1):
        with pytest.raises(MemoryError):
            Argon2idHasher().verify(PASSWORD, "encoded")

    with ExitStack() as stack:
        taken(stack)


def test_an_invalid_hash_matches_no_password_and_waits_for_its_turn(argon2, monkeypatch):
    monkeypatch.setattr(hashers, "PATIENCE_SECONDS", 0.01)
    assert not check_password(PASSWORD, "no hash")

    with ExitStack() as stack:
        taken(stack)
        with pytest.raises(TooBusy):
            check_password(PASSWORD, "no hash")


GUESSES = {
    "unknown name": ("nobody", "wrong"),
    "unknown name, first of its process": ("nobody", PASSWORD),
    "disabled": ("dora", PASSWORD),
    "disabled, wrong password": ("dora", "wrong"),
    "wrong password": ("alice", "wrong"),
    "password too long": ("alice", PASSWORD + "x" * 200),
    "password of a mebibyte": ("alice", "x" * (1 << 20)),
    "no password": ("alice", ""),
    "malformed name": ("no name; --", "wrong"),
    "name of a mebibyte": ("x" * (1 << 20), "wrong"),
    "name with NUL": ("alice\0", PASSWORD),
    "no name": ("", ""),
    "right": ("alice", PASSWORD),
}


@pytest.mark.django_db
@pytest.mark.parametrize("guess", GUESSES)
def test_every_guess_is_one_hash_of_bounded_length(alice, guess, monkeypatch):
    services.create_user(actor="", username="dora", password=PASSWORD, is_active=False)
    str(passwords._DUMMY_HASH)
    hashed = []
    real = MD5PasswordHasher.verify
    monkeypatch.setattr(
        MD5PasswordHasher, "verify", lambda self, *given: hashed.append(len(given[0])) or real(self, *given)
    )

    found = passwords.verify(*GUESSES[guess])

    assert (found == alice) is (guess == "right")
    assert len(hashed) == 1
    assert hashed[0] <= 128


@pytest.mark.django_db
@pytest.mark.parametrize("username", ["nobody", "alice"])
def test_the_dummy_hash_is_made_once_for_known_and_unknown_names(alice, username, monkeypatch):
    made = []
    monkeypatch.setattr(
        passwords,
        "_DUMMY_HASH",
        passwords.SimpleLazyObject(lambda: made.append(username) or make_password("the password of nobody")),
    )

    for _ in range(2):
        passwords.verify(username, "wrong")

    assert made == [username]
