"""Sign-in with two factors over JSON, step by step."""

import pytest

from tests.support.proxies import PASSWORD, Api

DOORS = ["/login", "/admin-login"]
BOTH = pytest.mark.parametrize("door", DOORS)
FLOWS = ["login", "admin-login", "guard", "admin-site"]


def begin(door="/login", username="alice"):
    """Send the right password; return the challenge."""
    response = Api().post(door, {"username": username, "password": PASSWORD})
    assert response.status_code == 200
    return response.json()["challenge_token"]


def finish(challenge, code, door="/login", **headers):
    return Api(**headers).post(f"{door}/2fa", {"challenge_token": challenge, "code": code})
