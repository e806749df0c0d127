"""Guessing of passwords and codes from several networks."""

from accounts.models import FailureCount, WrongCodes
from tests.support.proxies import PASSWORD, Api

HERE, THERE = "203.0.113.7", "198.51.100.200"
FIRST_DELAY = 30


def sign_in(username="alice", password="wrong", *, at=HERE, path="/login", **fields):
    return Api(**{"X-Forwarded-For": at}).post(path, {"username": username, "password": password, **fields})


def fail(times, *who, **where):
    """Fail to sign in this many times; return the status of the last answer."""
    statuses = [sign_in(*who, **where).status_code for _ in range(times)]
    assert set(statuses[:-1]) <= {401}, statuses
    return statuses[-1]


def waits(response):
    """Return how long a refused attempt must wait."""
    assert (response.status_code, response.json()["code"]) == (429, "too-many-attempts")
    return int(response.headers["Retry-After"])


def finish(challenge, code, *, at=HERE):
    body = {"challenge_token": challenge.json()["challenge_token"], "code": code}
    return Api(**{"X-Forwarded-For": at}).post("/login/2fa", body)


def counts():
    return dict(FailureCount.objects.order_by("pk").values_list("scope", "failures"))


def challenge(at=HERE, path="/login"):
    """Sign in with the right password; return the response with the challenge."""
    return sign_in(password=PASSWORD, at=at, path=path)


def guess(app, times, at=THERE):
    """Enter wrong codes of Alice, each in a new challenge and without delays; return the last answer."""
    for code in app.wrong_codes(times):
        WrongCodes.objects.update(blocked_until=None)
        FailureCount.objects.all().delete()
        answer = finish(challenge(at), code, at=at)
    return answer


def number():
    """Return how many wrong codes in a row Alice has had."""
    return WrongCodes.objects.get(user__username="alice").number
