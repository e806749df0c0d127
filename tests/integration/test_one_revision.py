"""The changes of many services become one revision, or none."""

from contextlib import suppress

import pytest
from django.db import transaction

from gatewall.engine.addresses import parse_address
from gatewall.engine.segments import NAMES_DOMAINS
from gatewall.engine.snapshot import Segment
from gatewall.kernel.clientip import Caller
from gatewall.models import PendingConfirmation, PolicyRevision, PolicySegment
from gatewall.policy import revisions, system_settings
from policies import services
from policies.groups.services import create_group, delete_group
from policies.history.confirmation import revert
from policies.history.lockout import WouldLockYouOut, guard_against_lockout
from policies.history.restore import restore
from policies.models import BlocklistEntry, GeoBlockRule
from policies.rows import Duplicate
from tests.support.history import Step, the_rows

pytestmark = pytest.mark.django_db
CALLER = Caller(parse_address("203.0.113.9"), None)
AROUND = "203.0.113.0/24"


def segments():
    return dict(PolicySegment.objects.values_list("name", "change"))


@pytest.fixture
def heard():
    """Return a list of the revisions passed to the listener."""
    before, found = list(revisions._listeners), []
    revisions.call_in_transaction(lambda revision, diff: found.append((revision, diff)))
    yield found
    revisions._listeners[:] = before


@pytest.fixture
def announced():
    """Return a list of the versions passed to the hook after the commit."""
    before, found = list(revisions._hook), []
    revisions.call_after_commit(lambda version: not found.append(version))
    yield found
    revisions._hook[:] = before


def test_changes_of_many_services_are_one_revision(heard):
    before, marked = revisions.current().revision, segments()

    with revisions.as_one_revision("carol") as made:
        domain = services.register_domain(actor="x", name="a.example", access="public")
        services.change_domain(domain, actor="x", access="denied")
        services.block_country(actor="x", country_code="NZ")
        gone = create_group(actor="x", name="gone")
        delete_group(gone, actor="x")

    assert (made.revision.number, made.revision.actor) == (before + 1, "carol")
    assert revisions.current().revision == before + 1
    stored = PolicyRevision.objects.get(pk=before + 1)
    assert [(change["resource"], change["action"], change["name"]) for change in stored.changes] == [
        ("authorized-domains", "created", "a.example"),
        ("system/settings", "changed", "system settings"),
        ("geo-block-rules", "created", "NZ"),
    ]
    assert stored.changes[0]["after"]["access"] == "denied"
    assert [revision for revision, _ in heard] == [stored]
    moved = {name for name, change in segments().items() if marked.get(name) != change}
    assert {*NAMES_DOMAINS, Segment.SETTINGS, Segment.BLOCKED_COUNTRIES} <= moved


@pytest.mark.django_db(transaction=True)
def test_the_revision_is_announced_once_after_the_commit(announced):
    with revisions.as_one_revision("carol") as made:
        services.block_country(actor="x", country_code="NZ")
        services.block_country(actor="x", country_code="AU")
        assert announced == []

    assert [version.revision for version in announced] == [made.revision.number]


def test_an_error_rolls_everything_back():
    before = revisions.current()

    def change():
        with revisions.as_one_revision("carol"):
            services.block_country(actor="x", country_code="NZ")
            services.block_country(actor="x", country_code="NZ")

    with pytest.raises(Duplicate):
        change()

    assert revisions.current() == before
    assert not GeoBlockRule.objects.exists()
    services.block_country(actor="x", country_code="AU")
    assert revisions.current().revision == before.revision + 1  # later changes are revisions of their own again


def test_a_block_without_a_net_change_makes_no_revision():
    domain = services.register_domain(actor="x", name="a.example", access="public")
    before = revisions.current()

    with revisions.as_one_revision("carol") as made:
        services.change_domain(domain, actor="x", access="denied")
        services.change_domain(domain, actor="x", access="public")

    assert made.revision is None
    assert revisions.current() == before


def test_a_block_in_a_block_joins_it():
    before = revisions.current().revision

    with revisions.as_one_revision("carol") as made:
        services.block_country(actor="x", country_code="NZ")
        with revisions.as_one_revision("dave") as inner:
            services.block_country(actor="x", country_code="AU")

    assert inner is made
    assert (made.revision.number, made.revision.actor) == (before + 1, "carol")
    assert len(made.revision.changes) == 2


def test_a_service_that_failed_leaves_nothing_in_the_revision():
    with revisions.as_one_revision("carol") as made:
        services.block_country(actor="x", country_code="NZ")
        with suppress(services.Conflict):  # it writes its row and its change before it refuses
            services.create_waf_rule(actor="x", name="all", pattern=".*")

    assert [change["resource"] for change in made.revision.changes] == ["geo-block-rules"]


def test_a_trial_in_a_block_leaves_nothing_in_the_revision():
    with revisions.as_one_revision("carol") as made:
        with revisions.rolled_back():
            services.block_country(actor="x", country_code="NZ")
        services.block_country(actor="x", country_code="AU")

    assert [change["name"] for change in made.revision.changes] == ["AU"]


def test_a_block_joins_the_transaction_of_the_caller():
    before = revisions.current().revision
    with transaction.atomic():
        with revisions.as_one_revision("carol"):
            services.block_country(actor="x", country_code="NZ")
        transaction.set_rollback(True)

    assert revisions.current().revision == before


def test_a_forced_lock_out_inside_waits_for_confirmation_of_the_whole():
    with revisions.as_one_revision("carol") as made:
        services.block_country(actor="x", country_code="NZ")
        services.block_network(actor="x", network=AROUND, caller=CALLER, force=True)
        services.block_country(actor="x", country_code="AU")

    (pending,) = PendingConfirmation.objects.all()
    assert (pending.revision, pending.previous) == (made.revision.number, made.revision.number - 1)
    assert pending.actor == "carol"
    revert(made.revision.number, actor="x")
    assert not BlocklistEntry.objects.exists()
    assert not GeoBlockRule.objects.exists()


def test_a_forced_lockout_undone_in_the_block_waits_for_no_confirmation():
    with revisions.as_one_revision("carol") as made:
        entry = services.block_network(actor="x", network=AROUND, caller=CALLER, force=True)
        services.unblock_network(entry, actor="x")

    assert made.revision is None
    assert not PendingConfirmation.objects.exists()


@pytest.mark.parametrize("force", [False, True])
def test_the_block_can_be_guarded_as_a_whole(force):
    @revisions.one_at_a_time
    def change():
        with guard_against_lockout(CALLER, force=force), revisions.as_one_revision("carol") as made:
            entry = services.block_network(actor="x", network=AROUND)
            services.unblock_network(entry, actor="x")
            services.block_network(actor="x", network="203.0.112.0/22")
        return made.revision

    if not force:
        with pytest.raises(WouldLockYouOut):
            change()
        assert not BlocklistEntry.objects.exists()
    else:
        assert change().number == PendingConfirmation.objects.get().revision


class WithoutRenames(Step):
    """Changes of every kind, without renames of domains."""

    def do_rename(self):
        """Leave the names as they are: a restore cannot tell a name that moved twice in one revision."""


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(more, marks=pytest.mark.full) for more in range(6, 20))])
def test_random_changes_are_one_revision_that_can_be_restored(seed):
    step = WithoutRenames(seed)
    system_settings.change(actor="x", waf_mode="block")
    for _ in range(15):
        step()
    before, rows = revisions.current().revision, the_rows()

    with revisions.as_one_revision("carol"):
        for _ in range(25):
            step()

    assert revisions.current().revision in {before, before + 1}
    restore(before, actor="x")
    assert the_rows() == rows
