"""Concurrent writers: revisions are numbered in commit order, and no revocation is lost."""

from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from threading import Barrier, Event

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from accounts import services as accounts
from accounts.models import Session
from gatewall.engine.segments import blocked_networks_of
from gatewall.engine.snapshot import Segment
from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from gatewall.publication.compiler import consistent_read
from gatewall.snapshot import codec
from gatewall.snapshot.host_paths import policy_files
from policies import services as policies
from policies.history.restore import restore
from policies.models import MANUAL, BlocklistEntry

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS = 2
CHANGES = 15


def at_once(*works):
    """Run the functions in threads that begin together and return what each returned."""
    barrier = Barrier(len(works))

    def run(work):
        try:
            barrier.wait(timeout=60)
            return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(run, work) for work in works]]


@pytest.fixture
def sessions(wall, bob):
    """Return the ids of sessions to be revoked, for each writer."""
    for _ in range(WRITERS * CHANGES):
        wall.a_token(bob)
    ids = list(Session.objects.values_list("jti", flat=True))
    return [ids[number::WRITERS] for number in range(WRITERS)]


@pytest.fixture
def writers(sessions):
    """Return functions that each alternate policy changes and revocations, and return their revisions."""

    def writer(number):
        def write():
            made = []
            for step, jti in enumerate(sessions[number]):
                with transaction.atomic():
                    policies.block_network(actor=f"writer {number}", network=f"203.0.{number}.{step}")
                    made.append(revisions.current().revision)
                accounts.revoke_session(jti, at=timezone.now())
            return made

        return write

    return [writer(number) for number in range(WRITERS)]


def published(segment):
    """Return the rows of a segment of the policy in force on this host."""
    files = policy_files(settings.CONFIG)
    return codec.decode(segment, files.segment(files.manifest().segments[segment]))


def test_revisions_are_consecutive_and_in_the_order_of_the_commits(writers):
    before = revisions.current().revision

    made = at_once(*writers)

    assert sorted(chain(*made)) == list(range(before + 1, before + 1 + WRITERS * CHANGES))
    assert [sorted(numbers) for numbers in made] == made
    moments = list(PolicyRevision.objects.order_by("number").values_list("committed_at", flat=True))
    assert moments == sorted(moments)


def test_a_consistent_read_has_every_change_up_to_its_revision(writers):
    before = revisions.current().revision
    done = Event()
    torn = []

    def reader():
        looks = 0
        while not done.is_set() or not looks:
            with consistent_read() as moment:
                revision, entries = moment.head.revision, BlocklistEntry.objects.count()
                numbers = list(PolicyRevision.objects.order_by("number").values_list("number", flat=True))
            if entries != revision - before or numbers != list(range(1, revision + 1)):
                torn.append((revision, entries, numbers))
            looks += 1
        return looks

    def write_all():
        try:
            at_once(*writers)
        finally:
            done.set()

    looks, _ = at_once(reader, write_all)

    assert looks
    assert torn == []


def test_every_revocation_and_every_change_is_in_the_policy_that_was_published_last(writers, sessions):
    at_once(*writers)

    manifest = policy_files(settings.CONFIG).manifest()
    assert manifest.version == revisions.current()
    assert set(published(Segment.REVOCATIONS)) == {str(jti) for jti in chain(*sessions)}
    assert len(published(blocked_networks_of(MANUAL))) == WRITERS * CHANGES


def test_revocations_are_counted_one_by_one(writers):
    before = revisions.current().revocations

    at_once(*writers)

    assert revisions.current().revocations == before + WRITERS * CHANGES


def test_two_simultaneous_revocations_of_a_session_count_once(sessions):
    jti = sessions[0][0]
    before = revisions.current().revocations

    at_once(*[lambda: accounts.revoke_session(jti, at=timezone.now())] * 2)

    assert revisions.current().revocations == before + 1


def test_revoked_session_stays_revoked_while_others_write(writers, bob, wall, auth):
    others = set(Session.objects.values_list("jti", flat=True))
    token = wall.a_token(bob)
    (jti,) = set(Session.objects.values_list("jti", flat=True)) - others
    accounts.revoke_session(jti, at=timezone.now())

    statuses, *_ = at_once(lambda: {auth(service_authorization=token).status for _ in range(CHANGES)}, *writers)

    assert statuses == {401}


def test_each_revision_has_the_change_and_the_name_of_its_writer(writers):
    before = revisions.current().revision

    made = at_once(*writers)

    for number, numbers in enumerate(made):
        rows = PolicyRevision.objects.filter(number__in=numbers).order_by("number")
        assert {row.actor for row in rows} == {f"writer {number}"}
        networks = [change["after"]["ip"] for row in rows for change in row.changes]
        assert networks == [f"203.0.{number}.{step}" for step in range(CHANGES)]
    assert revisions.current().revision == before + WRITERS * CHANGES


def test_a_simultaneous_restore_and_change_are_serialized(sessions):
    policies.block_network(actor="x", network="192.0.2.1")
    number = revisions.current().revision
    policies.block_network(actor="x", network="192.0.2.2")

    at_once(
        lambda: restore(number, actor="restorer"),
        lambda: policies.block_network(actor="writer", network="192.0.2.3"),
    )

    by_order = list(PolicyRevision.objects.filter(number__gt=number + 1).order_by("number"))
    assert {row.actor for row in by_order} == {"restorer", "writer"}
    left = set(BlocklistEntry.objects.values_list("network", flat=True))
    assert left == ({"192.0.2.1"} if by_order[-1].actor == "restorer" else {"192.0.2.1", "192.0.2.3"})
