"""A control plane on a restored database decides with the published policy until an admin confirms the restore."""

import pytest
from django.conf import settings

from gatewall.models import PolicyHead, PolicyRevision
from gatewall.publication.publisher import confirm_new_epoch, publish
from gatewall.snapshot.host_paths import policy_files
from policies import services
from policies.models import BlocklistEntry
from tests.support.cast import CLIENT
from tests.support.proxies import a_token

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def restored(bob):
    """Block the client, publish, and restore the earlier rows; return a valid token."""
    token = a_token(bob)
    services.block_network(actor="alice", network=CLIENT)
    publish(policy_files(settings.CONFIG))
    BlocklistEntry.objects.all().delete()
    number = PolicyHead.objects.get().revision
    PolicyRevision.objects.filter(number=number).delete()
    PolicyHead.objects.update(revision=number - 1)
    return token


def test_a_process_started_on_restored_rows_uses_the_published_policy(new_gate, restored):
    assert new_gate()(service_authorization=restored).verdict == (403, "client-blocked")


def test_newer_revisions_after_a_restore_do_not_replace_the_published_policy(new_gate, restored, office):
    services.change_domain(office, remark="a change after the restore", actor="alice")

    assert new_gate()(service_authorization=restored).verdict == (403, "client-blocked")


def test_the_restored_database_decides_after_confirmation(new_gate, restored):
    gate = new_gate()
    gate(service_authorization=restored)

    confirm_new_epoch(policy_files(settings.CONFIG))

    assert gate(service_authorization=restored).verdict == (200, "session-valid")
