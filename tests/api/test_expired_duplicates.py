"""A ``PUT`` onto the network of an entry that has expired replaces it, as ``POST`` does."""

import pytest
from django.utils import timezone

from policies import services
from policies.models import AllowlistEntry, BlocklistEntry

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("ended", "status"), [(True, 200), (False, 409)])
def test_an_expired_blocklist_entry_gives_way_to_a_change(admin, ended, status):
    other = services.block_network(actor="x", network="203.0.113.7", expires_at=timezone.now() if ended else None)
    entry = services.block_network(actor="x", network="203.0.113.8")

    assert admin.put(f"/ip-black-list/{entry.pk}", {"ip": "203.0.113.7"}).status_code == status

    assert BlocklistEntry.objects.filter(pk=other.pk).exists() is not ended


def test_an_expired_entry_of_another_source_stays(admin):
    services.block_network(actor="x", network="203.0.113.7", source="import:feed", expires_at=timezone.now())
    entry = services.block_network(actor="x", network="203.0.113.8")

    assert admin.put(f"/ip-black-list/{entry.pk}", {"ip": "203.0.113.7"}).status_code == 200

    assert BlocklistEntry.objects.count() == 2


@pytest.mark.parametrize(("ended", "status"), [(True, 200), (False, 409)])
@pytest.mark.parametrize("domain", [None, "office.example"])
def test_an_expired_allowlist_entry_gives_way_to_a_change(admin, office, domain, ended, status):
    end = timezone.now() if ended else None
    other = services.allow_network(actor="x", network="203.0.113.7", domain=office if domain else None, expires_at=end)
    entry = services.allow_network(actor="x", network="203.0.113.8")

    response = admin.put(f"/ip-white-list/{entry.pk}", {"ip": "203.0.113.7", "domain": domain})

    assert response.status_code == status, response.content
    assert AllowlistEntry.objects.filter(pk=other.pk).exists() is not ended


def test_an_expired_entry_changed_in_place_is_no_duplicate_of_itself(admin):
    entry = services.allow_network(actor="x", network="203.0.113.7", expires_at=timezone.now())

    assert admin.put(f"/ip-white-list/{entry.pk}", {"ip": "203.0.113.7", "expires_at": None}).status_code == 200
