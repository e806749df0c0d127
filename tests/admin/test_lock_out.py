"""The lockout guard on the admin pages, and the limit of rows deleted at once."""

import pytest
from django.test import Client

from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from policies import services
from policies.models import AllowlistEntry, AuthorizedDomain, BlocklistEntry
from tests.admin.conftest import Pages
from tests.support.proxies import enter_admin_site

pytestmark = pytest.mark.django_db

ME = "198.51.100.7"
WORDS = f"our own address {ME} would be refused"


@pytest.fixture
def behind_proxy(alice):
    """Return the admin pages as Alice sees them through the proxy."""
    pages = Pages(Client(enforce_csrf_checks=True, headers={"X-Forwarded-For": ME, "Host": "testserver"}))
    enter_admin_site(pages.client, alice)
    return pages


@pytest.fixture
def protecting(db):
    services.block_network(actor="x", network="198.51.100.0/24")
    return services.allow_network(actor="x", network=ME)


def test_blocking_the_callers_own_address_is_refused_in_the_form(behind_proxy):
    page = "/policies/blocklistentry/add/"

    assert 'name="force"' not in behind_proxy.get(page).content.decode()
    refused = behind_proxy.words(behind_proxy.submit(page, network=ME))
    assert WORDS in refused
    assert "send force" not in refused
    assert 'name="force"' in refused
    assert "reverted automatically unless somebody confirms it" in refused
    assert not BlocklistEntry.objects.exists()

    assert behind_proxy.submit(page, network=ME, force="on").status_code == 302
    assert BlocklistEntry.objects.get().network == ME


def test_changing_a_protecting_entry_is_refused_in_the_form(behind_proxy, protecting):
    page = f"/policies/allowlistentry/{protecting.pk}/change/"

    assert WORDS in behind_proxy.words(behind_proxy.submit(page, network="203.0.113.7"))
    assert behind_proxy.submit(page, network="203.0.113.7", force="on").status_code == 302
    assert AllowlistEntry.objects.get().network == "203.0.113.7"


def test_deleting_a_protecting_entry_needs_the_force_box(behind_proxy, protecting):
    page = f"/policies/allowlistentry/{protecting.pk}/delete/"
    assert 'name="force"' not in behind_proxy.get(page).content.decode()

    refused = behind_proxy.words(behind_proxy.delete(page))
    assert WORDS in refused
    assert 'name="force"' in refused
    assert AllowlistEntry.objects.exists()

    token = behind_proxy.client.cookies["gatewall.csrf"].value
    sent = {"csrfmiddlewaretoken": token, "post": "yes", "force": "on"}
    assert behind_proxy.client.post(f"/wall/admin{page}", sent).status_code == 302
    assert not AllowlistEntry.objects.exists()


def test_deleting_selected_protecting_entries_is_refused(behind_proxy, protecting):
    response = behind_proxy.delete_chosen("/policies/allowlistentry/", protecting)

    assert WORDS in behind_proxy.words(response)
    assert AllowlistEntry.objects.exists()


def test_changing_a_domain_of_a_protecting_entry_needs_force(behind_proxy, protecting):
    domain = services.register_domain(actor="", name="testserver", access="public", seed=True)
    AllowlistEntry.objects.update(domain=domain)
    page = f"/policies/authorizeddomain/{domain.pk}/change/"

    assert WORDS in behind_proxy.words(behind_proxy.submit(page, name="b.example"))
    assert behind_proxy.submit(page, name="b.example", force="on").status_code == 302
    assert AuthorizedDomain.objects.get().name == "b.example"


def test_the_revision_names_the_admin(pages):
    pages.submit("/policies/geoblockrule/add/", country_code="NZ")

    revision = PolicyRevision.objects.get(pk=revisions.current().revision)
    assert (revision.actor, revision.counts[0]["resource"]) == ("alice", "geo-block-rules")


class _Id:
    def __init__(self, pk):
        self.pk = pk


@pytest.mark.parametrize("bad", ["x", "-1", "1 OR 1=1", "9" * 19, "\u0661", ""])
def test_an_invalid_id_is_refused(pages, bad):
    entry = services.block_network(actor="x", network="203.0.113.7")

    response = pages.delete_chosen("/policies/blocklistentry/", entry, _Id(bad))

    assert "is chosen by its id" in pages.words(response)
    assert BlocklistEntry.objects.exists()


@pytest.mark.parametrize(("number", "left"), [(500, 1), (501, 501)])
def test_at_most_500_rows_are_deleted_at_once(pages, monkeypatch, number, left):
    BlocklistEntry.objects.bulk_create(BlocklistEntry(network=f"10.0.{n // 250}.{n % 250}") for n in range(501))
    monkeypatch.setattr("policies.admin.entries.BlocklistAdmin.delete_row", lambda *arguments: arguments[-1].delete())
    rows = list(BlocklistEntry.objects.all()[:number])

    response = pages.delete_chosen("/policies/blocklistentry/", *rows)

    assert BlocklistEntry.objects.count() == left
    assert ("t most 500" in pages.words(response)) == (left > 1)


def test_choosing_all_across_the_pages_is_bounded_too(pages):
    BlocklistEntry.objects.bulk_create(BlocklistEntry(network=f"10.0.{n // 250}.{n % 250}") for n in range(501))
    first = BlocklistEntry.objects.first()
    pages.get("/policies/blocklistentry/")
    token = pages.client.cookies["gatewall.csrf"].value
    sent = {"csrfmiddlewaretoken": token, "action": "delete_selected", "_selected_action": [first.pk]}

    response = pages.client.post("/wall/admin/policies/blocklistentry/", {**sent, "select_across": "1"})

    assert "t most 500" in pages.words(response)
