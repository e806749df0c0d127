"""Revisions: each change raises the number by one, in commit order."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest
from django.db import connection, transaction

from accounts import services as accounts
from accounts.models import User
from gatewall.policy import revisions
from policies import rows, services

pytestmark = pytest.mark.django_db(transaction=True)


def in_threads(count, work):
    """Run the work in this many threads at once; return the result of each."""
    barrier = Barrier(count)

    def run(number):
        try:
            barrier.wait(timeout=60)
            return work(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_a_change_is_the_next_revision():
    services.block_network(actor="alice", network="203.0.113.1")
    first = revisions.current()

    services.block_network(actor="alice", network="203.0.113.2")

    assert revisions.current().revision == first.revision + 1


def test_a_revision_outside_a_transaction_is_refused():
    with pytest.raises(transaction.TransactionManagementError):
        revisions.advance(actor="alice", changes=[])


def test_a_revocation_outside_a_transaction_is_refused():
    with pytest.raises(transaction.TransactionManagementError):
        revisions.advance_revocations()


def test_a_change_that_is_rolled_back_has_no_revision():
    before = revisions.current()

    with suppress(ZeroDivisionError), transaction.atomic():
        services.block_network(actor="alice", network="203.0.113.1")
        raise ZeroDivisionError

    assert revisions.current() == before


def test_a_change_that_is_refused_has_no_revision():
    services.block_network(actor="alice", network="203.0.113.1")
    before = revisions.current()

    with pytest.raises(rows.Duplicate):
        services.block_network(actor="alice", network="203.0.113.1")

    assert revisions.current() == before


def test_writers_at_the_same_time_get_consecutive_revisions():
    before = revisions.current().revision

    def write(number):
        with transaction.atomic():
            services.block_network(actor="alice", network=f"203.0.113.{number}")
            return revisions.current().revision

    assert sorted(in_threads(8, write)) == list(range(before + 1, before + 9))


def test_the_very_first_concurrent_writers_do_not_collide():
    def write(number):
        with transaction.atomic():
            revisions.advance(actor="alice", changes=[])

    in_threads(4, write)

    assert revisions.current().revision == 4


def test_of_two_concurrent_registrations_of_one_name_one_is_refused():
    def write(number):
        try:
            services.register_domain(actor="alice", name="office.example", access="authenticated")
        except rows.Duplicate:
            return "duplicate"
        return "registered"

    assert sorted(in_threads(2, write)) == ["duplicate", "registered"]


@pytest.mark.parametrize("attempt", range(3))
def test_two_admins_cannot_demote_each_other_at_the_same_moment(wall, attempt):
    pair = [wall.a_user(name, is_admin=True) for name in ("alice", "dora")]

    def demote(number):
        try:
            accounts.change_user(pair[number], is_admin=False, actor="alice")
        except accounts.LastAdmin:
            return "last admin"
        return "demoted"

    assert sorted(in_threads(2, demote)) == ["demoted", "last admin"]
    assert User.objects.filter(is_admin=True).count() == 1


@pytest.mark.parametrize("attempt", range(3))
def test_a_change_of_settings_does_not_block_the_first_registration(attempt):
    from gatewall.policy import system_settings  # noqa: PLC0415

    system_settings.change(waf_threshold=5, actor="alice")

    def write(number):
        if number:
            services.register_domain(actor="alice", name="office.example", access="authenticated")
        else:
            system_settings.change(waf_threshold=6, actor="alice")

    in_threads(2, write)

    assert system_settings.current().authorized_domains_mode == "registered"
    assert system_settings.current().waf_threshold == 6
