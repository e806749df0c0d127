"""The cache holds bytes, text and whole numbers, and never runs code from what it reads."""

import pickle

import pytest
from django.core.cache import cache, caches

from gatewall.database.local_cache import LocalCache
from gatewall.database.shared_cache import PlainSerializer

PLAIN = [b"", b"bytes\xff\0", "", "text ü", 0, 5, -5, 10**18]
OTHER = [None, 1.5, [1], {"a": 1}, {1}, object(), ("a",)]


class Canary:
    """Something that would leave a trace if it were unpickled."""

    touched: list[int] = []

    def __reduce__(self):
        return (Canary.touched.append, (1,))


@pytest.fixture(autouse=True)
def _empty():
    cache.clear()


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_a_plain_value_comes_back_as_it_was(value):
    cache.set("key", value)

    assert cache.get("key") == value
    assert type(cache.get("key")) is type(value)


@pytest.mark.parametrize("value", OTHER, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("call", [cache.set, cache.add], ids=["set", "add"])
def test_anything_else_is_refused(call, value):
    with pytest.raises(TypeError, match="only bytes, text and whole numbers"):
        call("key", value)


def test_the_tests_use_the_cache_of_an_installation():
    assert isinstance(caches["default"], LocalCache)


def test_what_is_not_there_is_the_default():
    assert cache.get("nothing", "default") == "default"


def test_add_does_not_replace():
    cache.set("key", "first")

    assert (cache.add("key", "second"), cache.get("key")) == (False, "first")


def test_a_value_that_is_over_is_not_there():
    cache.set("key", "value", 0)

    assert cache.get("key") is None


def test_a_number_is_counted_up():
    cache.set("key", 1)

    assert (cache.incr("key", 4), cache.decr("key"), cache.get("key")) == (5, 4, 4)


def test_what_is_not_there_is_not_counted_up():
    with pytest.raises(ValueError, match="not found"):
        cache.incr("nothing")


def test_many_values_are_kept_within_bounds():
    small = LocalCache("small", {"OPTIONS": {"MAX_ENTRIES": 10}})

    for number in range(100):
        small.set(str(number), number)

    assert len(small._cache) <= 10


def test_a_version_is_a_cache_of_its_own():
    cache.set("key", "one", version=1)

    assert cache.get("key", version=2) is None


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_what_goes_to_redis_comes_back(value):
    serializer = PlainSerializer()
    stored = serializer.dumps(value)

    assert serializer.loads(stored if isinstance(stored, bytes) else str(stored).encode()) == value


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
    "data", [b"", b"-", b"1.5", b"\x80", b"{}", b"--5", b"9" * 5000], ids=lambda data: repr(data[:8])
)
def test_bytes_in_redis_that_are_not_ours_are_nothing(data):
    assert PlainSerializer().loads(data) is None
