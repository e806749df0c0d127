"""Access of API tokens to the log through replays: everything with ``logs:read``, otherwise only counts."""

import pytest
from django.utils import timezone

from gatewall.whatif.backtest import running, runs
from tests.api.plans import CLOSED, planned
from tests.support.cast import CLIENT, OFFICE
from tests.support.proxies import a_token, a_user, an_api_token, with_api_token

pytestmark = pytest.mark.django_db
LISTS = ("people", "hosts", "anonymous", "examples")


@pytest.fixture
def callers(admin, alice):
    """Return clients that may make plans, by name: a session, and tokens with and without ``logs:read``."""
    scopes = {"policy": ["policy:read"], "both": ["policy:read", "logs:read"]}
    tokens = {name: with_api_token(an_api_token(alice, *each, name=name)) for name, each in scopes.items()}
    return {"admin": admin, **tokens}


@pytest.fixture
def log(visits, office):
    """Record a request of Bob that is let in."""
    visits(service_authorization=a_token(a_user("bob")))


def replayed(caller, path, made):
    assert running.run(runs.claim_next(timezone.now()))
    return caller.get(f"{path}/{made['id']}").json()


def test_a_plan_shows_no_people_to_a_token_without_logs_read(callers, log):
    plan = planned(callers["policy"], CLOSED)
    shown = {"policy": replayed(callers["policy"], "/policy/plan", plan)}
    shown |= {name: callers[name].get(f"/policy/plan/{plan['id']}").json() for name in ("admin", "both")}
    replays = {name: each["replay"] for name, each in shown.items()}

    assert replays["admin"] == replays["both"]
    assert replays["both"]["scope_missing"] is None
    assert [len(replays["both"][name]) for name in ("people", "hosts", "examples")] == [1, 1, 1]
    cut = replays["policy"]
    assert (cut["scope_missing"], cut["rows"], cut["changed"]) == ("logs:read", 1, 1)
    assert [cut[name] for name in LISTS] == [[], [], [], []]
    assert (cut["unlisted"]["people"], cut["unlisted"]["hosts"]) == (1, 1)
    for secret in ("bob", CLIENT):
        assert secret not in str(shown["policy"])
    assert [len(shown["policy"][name]) for name in ("changes", "counts")] == [1, 1]


def test_a_backtest_shows_no_people_to_a_token_without_logs_read(callers, log):
    made = callers["policy"].post("/policy/backtest", {"document": CLOSED}).json()
    cut = replayed(callers["policy"], "/policy/backtest", made)["result"]
    whole = callers["both"].get(f"/policy/backtest/{made['id']}").json()["result"]

    assert whole == callers["admin"].get(f"/policy/backtest/{made['id']}").json()["result"]
    assert (cut["scope_missing"], cut["changed"], cut["people"]["number"]) == ("logs:read", 1, 1)
    assert [len(whole[name]["results"]) for name in ("people", "hosts", "subjects", "clients")] == [1, 1, 1, 1]
    assert [len(cut[name]["results"]) for name in ("people", "hosts", "subjects", "clients")] == [0, 0, 0, 0]
    assert (len(cut["changes"]["results"]), cut["changes"]["results"][0]["examples"]) == (1, [])
    assert [each["results"] for each in cut["access"].values()] == [[], [], []]
    for secret in ("bob", CLIENT, OFFICE):
        assert secret not in str(cut)
