"""``X-Request-Id``: every answer has one; that of a trusted proxy is kept."""

import uuid

import pytest

from gatewall.kernel.clientip import TrustedProxies
from tests.support.proxies import Api

pytestmark = pytest.mark.django_db
GOOD = ["a", "A-b_c.9", "x" * 64, "0", "550e8400-e29b-41d4-a716-446655440000"]
BAD = ["", " ", "a b", "a,b", "a\nb", "é", "x" * 65, "<a>", "a/b", "a:b", '"a"', "a\x7f", "a%0a"]


def answered(given, **options):
    return Api(**{"X-Request-Id": given}).get("/health/live", **options).headers["X-Request-Id"]


@pytest.mark.parametrize("given", GOOD)
def test_the_id_of_a_trusted_proxy_is_taken_over(given):
    assert answered(given) == given


@pytest.mark.parametrize("given", BAD, ids=repr)
def test_an_invalid_request_id_is_replaced(given):
    assert uuid.UUID(answered(given))


@pytest.mark.parametrize("peer", ["203.0.113.9", "::2", "garbage"])
def test_the_request_id_of_an_untrusted_peer_is_replaced(peer):
    assert answered("mine", REMOTE_ADDR=peer) != "mine"


def test_without_trusted_proxies_no_request_id_is_accepted(settings):
    settings.GATEWALL_TRUSTED_PROXIES = TrustedProxies.parse([])

    assert answered("mine", REMOTE_ADDR="") != "mine"


def test_every_request_has_a_unique_id(anonymous):
    assert len({anonymous.get("/health/live").headers["X-Request-Id"] for _ in range(20)}) == 20


@pytest.mark.parametrize(
    ("verb", "path", "status"), [("GET", "/nothing", 404), ("GET", "/users", 401), ("PATCH", "/", 405)]
)
def test_errors_have_a_request_id_too(verb, path, status):
    response = Api(**{"X-Request-Id": "mine"}).send(verb, path)

    assert (response.status_code, response.headers["X-Request-Id"]) == (status, "mine")
