"""A failing cache server delays one request by a quarter of a second, and fails no request of the API."""

import logging
import time
from contextlib import ExitStack

import pytest
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache
from redis import RedisError

from gatewall.database.shared_cache import SharedCache
from tests.support.odd_cache import answering
from tests.support.valkey import caches_on, valkey

LARGE = 12_000_000
SLOW_ENOUGH = 500_000  # bytes a second, for a busy machine


@pytest.fixture(scope="module")
def server():
    with valkey() as running:
        yield running


@pytest.fixture
def shared(settings, server):
    """Return Django's cache of this thread, on the server."""
    settings.CACHES = caches_on(server.port)
    SharedCache._retry_at.clear()
    yield cache
    SharedCache._retry_at.clear()


def asked(monkeypatch):
    """Return a list with an item for each request to the server."""
    found = []
    before = RedisCache.get
    monkeypatch.setattr(RedisCache, "get", lambda *arguments: found.append(1) or before(*arguments))
    return found


def test_a_value_is_found_again(shared):
    shared.set("key", b"value")

    assert shared.get("key") == b"value"


def test_a_server_that_hangs_is_a_cache_miss(shared, server):
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


def test_the_server_is_asked_again_after_the_pause(shared, server, monkeypatch):
    monkeypatch.setattr(SharedCache, "SKIP_SECONDS", 0.0)
    shared.set("key", b"value")
    with server.hanging():
        shared.get("key")

    assert shared.get("key") == b"value"


def test_the_log_names_the_error_and_not_the_address(shared, server, caplog):
    with caplog.at_level(logging.WARNING), server.hanging():
        shared.get("key")

    assert [record.getMessage() for record in caplog.records] == ["the cache cannot be used (TimeoutError)"]


def test_a_value_that_cannot_be_cached_is_still_an_error(shared):
    with pytest.raises(TypeError):
        shared.set("key", object())


def test_an_unsupported_method_raises(shared, server):
    with server.hanging(), pytest.raises(RedisError):
        shared.incr("key")


@pytest.mark.django_db
def test_a_list_of_the_api_is_answered_though_the_cache_hangs(shared, server, admin):
    with server.hanging():
        status = admin.get("/ip-black-list").status_code

    assert status == 200


@pytest.fixture
def odd(settings):
    """Return a function that connects the cache of this thread to a server with these answers."""
    with ExitStack() as stack:

        def start(*how):
            settings.CACHES = caches_on(stack.enter_context(answering(*how)))
            SharedCache._retry_at.clear()
            return cache

        yield start
    SharedCache._retry_at.clear()


def trickle(connection, _):
    for byte in b"$10\r\nbnot a val\r\n":
        connection.sendall(bytes([byte]))
        time.sleep(0.1)


def deliver_a_large_value(connection, _):
    connection.sendall(b"$%d\r\nb" % LARGE)
    for part in range(8):
        connection.sendall(b"v" * (LARGE // 8 - (not part)))
        time.sleep(0.06)
    connection.sendall(b"\r\n")


def test_a_server_whose_answer_trickles_is_a_cache_miss_and_is_skipped(odd, monkeypatch):
    shared, found = odd(trickle), asked(monkeypatch)

    assert [shared.get("key", "nothing") for _ in range(3)] == ["nothing"] * 3
    assert len(found) == 1


def test_a_large_value_may_take_longer_than_a_small_one(odd, monkeypatch):
    monkeypatch.setattr("gatewall.database.shared_cache._BoundedSocket.BYTES_PER_SECOND", SLOW_ENOUGH)
    found = odd(deliver_a_large_value).get("key")

    assert found == b"v" * (LARGE - 1)


def test_a_large_value_may_be_sent_for_longer_than_a_small_one(odd, monkeypatch):
    sent = []
    shared = odd(lambda connection, words: (sent.append(len(words[2])), connection.sendall(b"+OK\r\n")))
    monkeypatch.setattr("tests.support.odd_cache.PART", 100_000)
    monkeypatch.setattr("gatewall.database.shared_cache._BoundedSocket.BYTES_PER_SECOND", SLOW_ENOUGH)

    shared.set("key", b"v" * (LARGE - 1))

    assert (sent, SharedCache._retry_at) == ([LARGE], {})


def test_a_transfer_ends_at_the_longest_time_for_any_size(odd, monkeypatch):
    monkeypatch.setattr("gatewall.database.shared_cache._BoundedSocket.BYTES_PER_SECOND", 1)
    monkeypatch.setattr(SharedCache, "LONGEST_SECONDS", 0.25)

    assert odd(trickle).get("key", "nothing") == "nothing"


@pytest.mark.parametrize(
    "answer",
    [b"$x\r\n", b"%1\r\n*0\r\n:1\r\n", b"*1\r\n" * 5000, b"#t\r\n", b":7\r\n"],
    ids=["size", "key", "depth", "truth", "number"],
)
def test_a_server_that_answers_nonsense_is_a_cache_miss(odd, answer):
    shared = odd(lambda connection, _: connection.sendall(answer))

    assert shared.get("key", "nothing") in ("nothing", None)


def test_a_server_that_greets_with_nonsense_is_a_cache_miss(odd):
    assert odd(trickle, b"*1\r\n:3\r\n").get("key", "nothing") == "nothing"
