"""A cache server that fails costs a quarter of a second once, and no answer of the API."""

import logging

import pytest
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache
from redis import RedisError

from gatewall.caches import SharedCache
from tests.valkey import valkey


@pytest.fixture(scope="module")
def server():
    with valkey() as running:
        yield running


@pytest.fixture
def shared(settings, server):
    """Django's cache of this thread, on the server."""
    settings.CACHES = {
        "default": {
            "BACKEND": "gatewall.caches.SharedCache",
            "LOCATION": f"redis://127.0.0.1:{server.port}/0",
            "OPTIONS": {"serializer": "gatewall.caches.PlainSerializer", "socket_timeout": 0.25},
        }
    }
    SharedCache._asked_again_at.clear()
    yield cache
    SharedCache._asked_again_at.clear()


def asked(monkeypatch):
    """A list that gets an item whenever the server is asked."""
    found = []
    before = RedisCache.get
    monkeypatch.setattr(RedisCache, "get", lambda *arguments: found.append(1) or before(*arguments))
    return found


def test_a_value_is_found_again(shared):
    shared.set("key", b"value")

    assert shared.get("key") == b"value"


def test_a_server_that_hangs_knows_nothing(shared, server):
    shared.set("key", b"value")

    with server.hanging():
        assert shared.get("key", "nothing") == "nothing"


def test_a_server_that_hangs_is_asked_once_in_five_seconds(shared, server, monkeypatch):
    found = asked(monkeypatch)
    with server.hanging():
        for _ in range(10):
            shared.get("key")
            shared.set("key", b"value")

    assert len(found) == 1


def test_it_is_asked_again_when_the_time_is_over(shared, server, monkeypatch):
    monkeypatch.setattr(SharedCache, "LEFT_ALONE_SECONDS", 0.0)
    shared.set("key", b"value")
    with server.hanging():
        shared.get("key")

    assert shared.get("key") == b"value"


def test_the_log_names_the_error_and_not_the_address(shared, server, caplog):
    with caplog.at_level(logging.WARNING), server.hanging():
        shared.get("key")

    assert [record.getMessage() for record in caplog.records] == ["the cache cannot be used (TimeoutError)"]


def test_what_cannot_be_cached_is_an_error_still(shared):
    with pytest.raises(TypeError):
        shared.set("key", object())


def test_another_method_than_these_raises(shared, server):
    with server.hanging(), pytest.raises(RedisError):
        shared.incr("key")


@pytest.mark.django_db
def test_a_list_of_the_api_is_answered_though_the_cache_hangs(shared, server, admin):
    with server.hanging():
        status = admin.get("/ip-black-list").status_code

    assert status == 200
