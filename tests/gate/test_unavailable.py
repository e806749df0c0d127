"""During a database outage the last good policy decides; without a policy nobody passes."""

import pytest
from django.core.cache import cache
from django.db import InterfaceError, OperationalError, connection

from gatewall.database.shared_cache import SharedCache
from policies import services
from policies.models import WafRule
from tests.support.proxies import a_token
from tests.support.valkey import caches_on, valkey

pytestmark = pytest.mark.django_db


def failing(error):
    """Return a context in which every statement fails."""

    def fail(execute, sql, params, many, context):
        raise error

    return connection.execute_wrapper(fail)


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("gone")], ids=repr)
def test_without_a_database_and_a_policy_nobody_passes(auth, bob, error):
    token = a_token(bob)

    with failing(error):
        answer = auth(service_authorization=token)

    assert answer.verdict == (503, "cannot-decide")
    assert answer.headers["Retry-After"]


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("gone")], ids=repr)
def test_without_a_database_the_last_good_policy_decides(auth, bob, error):
    token = a_token(bob)
    services.block_network(actor="alice", network="203.0.113.9")
    auth()

    with failing(error):
        verdicts = auth(service_authorization=token).verdict, auth(x_forwarded_for="203.0.113.9").verdict

    assert verdicts == ((200, "session-valid"), (403, "client-blocked"))


def test_the_gate_recovers_with_the_database(auth, bob):
    token = a_token(bob)
    with failing(OperationalError("gone")):
        auth()

    assert auth(service_authorization=token).status == 200


def test_only_the_version_is_queried_while_nothing_changes(auth, bob, django_assert_num_queries):
    token = a_token(bob)
    auth()

    with django_assert_num_queries(1):
        auth(service_authorization=token)


@pytest.fixture(scope="module")
def server():
    with valkey() as running:
        yield running


@pytest.fixture
def shared_cache(settings, server):
    """Start an empty cache server."""
    settings.CACHES = caches_on(server.port)
    SharedCache._retry_at.clear()
    cache.clear()
    return cache


def test_a_second_process_takes_the_policy_from_the_cache(shared_cache, new_gate, bob, django_assert_num_queries):
    new_gate()()
    second = new_gate()

    # The version; then in one transaction: version, segments, block sources, shards of users and of tokens
    with django_assert_num_queries(7):
        second()


def test_a_broken_cache_entry_is_ignored(shared_cache, new_gate, bob):
    token = a_token(bob)
    new_gate()()
    client = shared_cache._cache.get_client()
    keys = list(client.scan_iter("*:segment:*"))
    assert keys
    for key in keys:
        client.set(key, client.get(key)[:-1] + b"x")

    assert new_gate()(service_authorization=token).status == 200


def test_without_a_cache_server_no_process_caches_old_segments(auth, bob):
    cache.clear()

    for number in range(5):
        services.block_network(actor="alice", network=f"203.0.113.{number}")
        auth()

    assert [key for key in cache._cache if "segment:" in key] == []


def test_a_policy_that_the_engine_refuses_leaves_the_last_good_one(auth, bob):
    token = a_token(bob)
    rule = services.create_waf_rule(actor="alice", name="root", pattern="^/admin")
    auth()
    WafRule.objects.filter(pk=rule.pk).update(pattern="(")  # as an older release or manual SQL might leave it
    services.block_network(actor="alice", network="203.0.113.9")

    assert auth(service_authorization=token).status == 200


def test_a_policy_that_the_engine_refuses_is_loaded_only_once(auth, bob, django_assert_num_queries):
    rule = services.create_waf_rule(actor="alice", name="root", pattern="^/admin")
    auth()
    WafRule.objects.filter(pk=rule.pk).update(pattern="(")
    services.block_network(actor="alice", network="203.0.113.9")
    auth()

    with django_assert_num_queries(1):
        auth()


def test_a_new_process_does_not_start_with_a_policy_that_the_engine_refuses(new_gate, bob):
    rule = services.create_waf_rule(actor="alice", name="root", pattern="^/admin")
    WafRule.objects.filter(pk=rule.pk).update(pattern="(")

    assert new_gate()(service_authorization=a_token(bob)).verdict == (503, "cannot-decide")


@pytest.fixture
def no_cache(settings):
    """Make the shared cache unreachable: nothing listens on its port."""
    settings.CACHES = caches_on(1)


def test_without_the_shared_cache_a_new_process_reads_the_rows(new_gate, bob, no_cache):
    assert new_gate()(service_authorization=a_token(bob)).status == 200


def test_without_the_shared_cache_a_change_is_enforced_all_the_same(auth, bob, no_cache):
    token = a_token(bob)
    auth()
    services.block_network(actor="alice", network="203.0.113.9")

    assert auth(service_authorization=token, x_forwarded_for="203.0.113.9").verdict == (403, "client-blocked")
