"""The cache stores bytes and text, and never unpickles what it reads."""

import pickle

import pytest
from django.core.cache import cache, caches

from gatewall.database.local_cache import LocalCache
from gatewall.database.shared_cache import PlainSerializer

PLAIN = [b"", b"bytes\xff\0", "", "text ü"]
OTHER = [None, 0, 5, 1.5, [1], {"a": 1}, {1}, object(), ("a",)]


class Canary:
    """An object that would leave a trace if it were unpickled."""

    touched: list[int] = []

    def __reduce__(self):
        return (Canary.touched.append, (1,))


@pytest.fixture(autouse=True)
def _empty():
    cache.clear()


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_a_plain_value_is_returned_unchanged(value):
    cache.set("key", value)

    assert cache.get("key") == value
    assert type(cache.get("key")) is type(value)


@pytest.mark.parametrize("value", OTHER, ids=lambda value: type(value).__name__)
def test_anything_else_is_refused(value):
    with pytest.raises(TypeError, match="only bytes and text"):
        cache.set("key", value)


def test_the_tests_use_the_cache_of_an_installation():
    assert isinstance(caches["default"], LocalCache)


def test_a_missing_key_gives_the_default():
    assert cache.get("nothing", "default") == "default"


def test_calls_that_django_would_pickle_for_are_refused():
    cache.set("key", pickle.dumps(Canary()))

    with pytest.raises(NotImplementedError):
        cache.add("other", "value")
    with pytest.raises(TypeError):
        cache.incr("key")
    assert Canary.touched == []


def test_an_expired_value_is_missing():
    cache.set("key", "value", 0)

    assert cache.get("key") is None


def test_many_values_are_kept_within_bounds():
    small = LocalCache("small", {"OPTIONS": {"MAX_ENTRIES": 10}})

    for number in range(100):
        small.set(str(number), "value")

    assert len(small._cache) <= 10


def test_a_version_is_a_cache_of_its_own():
    cache.set("key", "one", version=1)

    assert cache.get("key", version=2) is None


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_a_value_survives_serialization_for_redis(value):
    serializer = PlainSerializer()

    assert serializer.loads(serializer.dumps(value)) == value


@pytest.mark.parametrize("value", OTHER, ids=lambda value: type(value).__name__)
def test_anything_else_does_not_go_to_redis(value):
    with pytest.raises(TypeError):
        PlainSerializer().dumps(value)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_in_redis_is_not_run(protocol):
    data = pickle.dumps(Canary(), protocol)

    assert not isinstance(PlainSerializer().loads(data), Canary)
    assert Canary.touched == []


@pytest.mark.parametrize(
    "data", [b"", b"-", b"5", b"1.5", b"\x80", b"{}", b"--5", b"9" * 5000], ids=lambda data: repr(data[:8])
)
def test_foreign_bytes_in_redis_are_a_cache_miss(data):
    assert PlainSerializer().loads(data) is None
