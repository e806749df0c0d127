"""IP lists and countries through the real admin pages."""

from datetime import timedelta

import pytest
from django.utils import timezone

from gatewall.engine.model import Reason
from gatewall.policy import revisions
from policies import services
from policies.models import AllowlistEntry, BlocklistEntry, GeoBlockRule
from tests.support.cast import CLIENT, OFFICE


def test_a_network_is_blocked_changed_and_unblocked(pages, decide):
    before = revisions.current()

    assert pages.submit("/policies/blocklistentry/add/", network=" 198.51.100.0/24 ").status_code == 302
    blocked = revisions.current()
    assert blocked.supersedes(before)
    assert decide(client=CLIENT) is Reason.CLIENT_BLOCKED
    entry = BlocklistEntry.objects.get()
    assert (entry.network, entry.created_by, entry.source) == ("198.51.100.0/24", "alice", "manual")

    assert pages.submit(f"/policies/blocklistentry/{entry.pk}/change/", network="203.0.113.0/24").status_code == 302
    changed = revisions.current()
    assert changed.supersedes(blocked)
    assert decide(client=CLIENT) is Reason.CREDENTIAL_MISSING
    assert decide(client="203.0.113.9") is Reason.CLIENT_BLOCKED

    assert pages.delete(f"/policies/blocklistentry/{entry.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(changed)
    assert decide(client="203.0.113.9") is Reason.CREDENTIAL_MISSING


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
        ("198.51.100.7/32", "198.51.100.7"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("2001:0db8:0000:0000:0000:0000:0000:0001/128", "2001:db8::1"),
    ],
)
def test_any_spelling_of_a_network_is_stored_as_one(pages, typed, stored):
    pages.submit("/policies/blocklistentry/add/", network=typed)

    assert BlocklistEntry.objects.get().network == stored


@pytest.mark.parametrize("typed", ["198.51.100.7/24", "not a network", "", "fe80::1%eth0"])
def test_the_page_refuses_an_invalid_network(pages, typed):
    before = revisions.current()

    response = pages.submit("/policies/blocklistentry/add/", network=typed)

    assert response.status_code == 200
    assert "errorlist" in pages.words(response)
    assert revisions.current() == before


def test_a_refusal_is_shown_in_the_form_and_changes_nothing(pages):
    services.block_network(actor="test", network="198.51.100.0/24")
    before = revisions.current()

    response = pages.submit("/policies/blocklistentry/add/", network="198.51.100.0/24", remark="kept in the form")

    assert response.status_code == 200
    assert "198.51.100.0/24 already exists" in pages.words(response)
    assert "kept in the form" in pages.words(response)
    assert BlocklistEntry.objects.count() == 1
    assert revisions.current() == before


def test_a_refused_change_is_shown_in_the_form_and_changes_nothing(pages):
    services.block_network(actor="test", network="198.51.100.0/24")
    other = services.block_network(actor="test", network="203.0.113.0/24")
    before = revisions.current()

    response = pages.submit(f"/policies/blocklistentry/{other.pk}/change/", network="198.51.100.0/24")

    assert response.status_code == 200
    assert "already exists" in pages.words(response)
    assert BlocklistEntry.objects.get(pk=other.pk).network == "203.0.113.0/24"
    assert revisions.current() == before


def test_a_very_large_network_is_blocked_by_force_only(pages):
    response = pages.submit("/policies/blocklistentry/add/", network="64.0.0.0/2")
    assert response.status_code == 200
    assert BlocklistEntry.objects.count() == 0

    assert pages.submit("/policies/blocklistentry/add/", network="64.0.0.0/2", force="on").status_code == 302
    assert BlocklistEntry.objects.get().network == "64.0.0.0/2"


def test_saving_an_unchanged_row_makes_no_revision(pages):
    entry = services.block_network(actor="test", network="198.51.100.0/24")
    before = revisions.current()

    assert pages.submit(f"/policies/blocklistentry/{entry.pk}/change/").status_code == 302

    assert revisions.current() == before


def test_the_form_of_a_deleted_row_redirects(pages):
    entry = services.block_network(actor="test", network="198.51.100.0/24")
    path = f"/policies/blocklistentry/{entry.pk}/change/"
    services.unblock_network(entry, actor="alice")

    assert pages.get(path).status_code == 302


def test_a_network_is_allowed_changed_and_disallowed(pages, decide, office):
    before = revisions.current()

    assert pages.submit("/policies/allowlistentry/add/", network=CLIENT, domain=office.pk).status_code == 302
    allowed = revisions.current()
    assert allowed.supersedes(before)
    assert decide(client=CLIENT, host=OFFICE) is Reason.CLIENT_ALLOWED
    assert decide(client=CLIENT, host="other.example") is Reason.CREDENTIAL_MISSING
    entry = AllowlistEntry.objects.get()

    assert pages.submit(f"/policies/allowlistentry/{entry.pk}/change/", domain="").status_code == 302
    changed = revisions.current()
    assert changed.supersedes(allowed)
    assert decide(client=CLIENT, host="other.example") is Reason.CLIENT_ALLOWED

    assert pages.delete(f"/policies/allowlistentry/{entry.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(changed)
    assert decide(client=CLIENT, host=OFFICE) is Reason.CREDENTIAL_MISSING


def test_an_expired_allowlist_entry_gives_way_to_a_new_one(pages, decide):
    services.allow_network(actor="test", network=CLIENT, expires_at=timezone.now() - timedelta(hours=1))

    assert pages.submit("/policies/allowlistentry/add/", network=CLIENT).status_code == 302

    assert decide(client=CLIENT) is Reason.CLIENT_ALLOWED


def test_a_country_is_blocked_and_unblocked(pages, decide):
    before = revisions.current()

    assert pages.submit("/policies/geoblockrule/add/", country_code="DE").status_code == 302
    blocked = revisions.current()
    assert blocked.supersedes(before)
    assert decide(country="DE") is Reason.COUNTRY_BLOCKED
    rule = GeoBlockRule.objects.get()
    assert "Germany" in pages.words(pages.get(f"/policies/geoblockrule/{rule.pk}/change/"))

    assert pages.delete(f"/policies/geoblockrule/{rule.pk}/delete/").status_code == 302
    assert revisions.current().supersedes(blocked)
    assert decide(country="DE") is Reason.CREDENTIAL_MISSING


@pytest.mark.parametrize("sent", ["XX", "Germany", "", "de"])
def test_an_invalid_country_is_refused_on_the_page(pages, sent):
    response = pages.submit("/policies/geoblockrule/add/", country_code=sent)

    assert response.status_code == 200
    assert "errorlist" in pages.words(response)
    assert not GeoBlockRule.objects.exists()


def test_a_country_is_picked_by_its_name(pages):
    words = pages.words(pages.get("/policies/geoblockrule/add/"))

    assert '<option value="DE">Germany (DE)</option>' in words
    assert 'type="text" name="country_code"' not in words


def test_rows_chosen_in_the_list_are_deleted_by_the_service(pages, decide):
    rows = [services.block_network(actor="test", network=each) for each in (CLIENT, "203.0.113.9")]
    before = revisions.current()

    assert pages.delete_chosen("/policies/blocklistentry/", *rows).status_code == 302

    assert revisions.current().supersedes(before)
    assert decide(client=CLIENT) is Reason.CREDENTIAL_MISSING
