"""The rate limit of the API: calls per minute for each subject."""

import pytest

from gatewall.api import rate
from gatewall.kernel.request_rate import RequestRateTable
from tests.support.proxies import PASSWORD, Api, a_license, a_token, a_user

pytestmark = pytest.mark.django_db
LIMIT = 5


@pytest.fixture(autouse=True)
def _few_calls(clock, monkeypatch):
    """Limit calls to five a minute, independent of the setting; the clock stands still between calls."""
    monkeypatch.setattr(rate, "_limit", lambda: LIMIT)


def statuses(client, times, path="/session", verb="GET"):
    return [client.send(verb, path).status_code for _ in range(times)]


def test_requests_above_the_limit_are_refused_with_retry_after(alice):
    client = Api(a_token(alice))

    assert statuses(client, LIMIT) == [200] * LIMIT
    response = client.get("/session")

    assert (response.status_code, response.json()["code"]) == (429, "too-many-requests")
    assert 1 <= int(response.headers["Retry-After"]) <= 121


def test_all_sessions_of_a_user_share_one_rate_limit(alice):
    one, other = Api(a_token(alice)), Api(cookie=a_token(alice))
    statuses(one, 2)
    statuses(other, 2, "/users")
    statuses(one, 1, "/users", "PATCH")

    assert one.get("/system/settings").status_code == 429
    assert other.get("/session").status_code == 429


def test_users_are_counted_separately(alice, bob):
    statuses(Api(a_token(alice)), LIMIT + 1)

    assert Api(a_token(bob)).get("/session").status_code == 200


@pytest.mark.parametrize("path", ["/users", "/login", "/system/settings", "/schema", "/docs"])
def test_unauthenticated_calls_are_counted_by_network(alice, path):
    verb = "POST" if path == "/login" else "GET"
    assert 429 not in statuses(Api(), LIMIT, path, verb)

    assert statuses(Api(), 1, path, verb) == [429]
    assert Api(a_token(alice)).get("/session").status_code == 200


def test_an_invalid_credential_counts_for_the_network(alice):
    clients = [Api("no.good.token"), Api(a_license()), Api(cookie="no.good.token"), Api(), Api("x.y.z")]
    assert [client.get("/users").status_code for client in clients] == [401] * LIMIT

    assert Api().get("/users").status_code == 429


def test_forbidden_requests_count_towards_the_limit(bob):
    assert statuses(Api(a_token(bob)), LIMIT + 1, "/users") == [403] * LIMIT + [429]


def test_unauthenticated_calls_of_different_networks_are_counted_separately(alice):
    def of(address):
        return Api(**{"X-Forwarded-For": address})

    statuses(of("198.51.100.1"), LIMIT + 1, "/users")
    statuses(of("2001:db8::1"), LIMIT + 1, "/users")

    assert of("198.51.100.1").get("/users").status_code == 429
    assert of("198.51.100.2").get("/users").status_code == 401
    assert of("2001:db8::ffff:2").get("/users").status_code == 429
    assert of("2001:db8:0:1::1").get("/users").status_code == 401


def test_the_forwarding_headers_of_an_untrusted_peer_are_ignored(alice, settings):
    settings.GATEWALL_TRUSTED_PROXIES = type(settings.GATEWALL_TRUSTED_PROXIES).parse(["10.0.0.1"])
    for number in range(LIMIT):
        Api(**{"X-Forwarded-For": f"198.51.100.{number}"}).get("/users")

    assert Api(**{"X-Forwarded-For": "198.51.100.99"}).get("/users").status_code == 429


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready"])
def test_health_routes_have_no_rate_limit(anonymous, path):
    assert 429 not in statuses(anonymous, 3 * LIMIT, path)


def test_the_gate_has_no_rate_limit_of_the_api(auth, alice):
    statuses(Api(), LIMIT + 1, "/users")

    assert 429 not in {auth.plain(service_authorization=a_token(alice)).status for _ in range(3 * LIMIT)}


def test_a_refused_call_does_nothing(alice):
    client = Api(a_token(alice))
    statuses(client, LIMIT)

    assert client.post("/ip-black-list", {"ip": "203.0.113.7"}).status_code == 429
    assert Api(a_token(a_user("dora", is_admin=True))).get("/ip-black-list").json()["count"] == 0


def test_a_refused_sign_in_opens_no_session(alice):
    statuses(Api(), LIMIT, "/users")
    response = Api().post("/login", {"username": "alice", "password": PASSWORD})

    assert (response.status_code, response.cookies) == (429, {})


def test_the_workers_of_a_host_count_together(alice, settings):
    statuses(Api(a_token(alice)), LIMIT)
    other = RequestRateTable(settings.GATEWALL_HOME / "run" / "api-rate")

    assert other.count(b"user %d api gate" % alice.pk, LIMIT, rate.time.time()) > 0


def test_counting_a_call_needs_no_database_query(alice, monkeypatch, django_assert_num_queries):
    monkeypatch.undo()
    monkeypatch.setattr(rate, "SETTING_SECONDS", 600)
    monkeypatch.setattr(rate, "_remembered", (0.0, 0))
    client = Api(a_token(alice))
    client.get("/session")

    with django_assert_num_queries(1):
        client.get("/session")


def test_the_number_in_force_is_the_setting(admin, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(rate, "SETTING_SECONDS", 0)
    monkeypatch.setattr(rate, "_remembered", (0.0, 0))

    assert rate._limit() == 1200
    admin.put("/system/settings", {"api_requests_per_minute": 60})
    assert rate._limit() == 60
    assert statuses(admin, 60)[-3:] == [200, 200, 429]
