"""Banning and allowing from a row of the log, with the guards of the API."""

from datetime import timedelta

import pytest

from gatewall.engine.model import Reason
from policies import services
from policies.models import AllowlistEntry, BlocklistEntry
from tests.console.conftest import ago, query_of
from tests.support.cast import CLIENT, OFFICE

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]


def row_of(pages, log, **parts):
    log(ago(1, 1, **parts))
    (row,) = pages.get("/log/?outcome=deny").context["rows"]
    return row


def test_a_row_links_to_a_ban_of_its_client(pages, log, decide, noon):
    row = row_of(pages, log)
    path = row.ban.removeprefix("/wall/admin")
    form = pages.get(path)
    assert form.status_code == 200

    done = pages.submit(path, lasts="1d")

    assert done.status_code == 302
    assert query_of(done.url) == {"outcome": "deny"}
    entry = BlocklistEntry.objects.get()
    assert (entry.network, entry.created_by, entry.expires_at) == (CLIENT, "alice", noon + timedelta(days=1))
    assert str(row.row.decision_id) in entry.remark
    assert decide(client=CLIENT) is Reason.CLIENT_BLOCKED
    assert "is banned for a day" in pages.words(done)


@pytest.mark.parametrize(("lasts", "days"), [("1h", 1 / 24), ("1d", 1), ("30d", 30), ("ever", None)])
def test_a_ban_lasts_as_long_as_was_chosen(pages, noon, lasts, days):
    assert pages.submit("/log/ban/?network=203.0.113.0/24", lasts=lasts).status_code == 302
    assert BlocklistEntry.objects.get().expires_at == (noon + timedelta(days=days) if days else None)


def test_a_ban_of_the_callers_own_address_must_be_forced(pages):
    pages.client.defaults.update(REMOTE_ADDR="203.0.113.9")
    refused = pages.submit("/log/ban/?network=203.0.113.0/24", lasts="1h")

    assert refused.status_code == 409
    assert "your own address 203.0.113.9 would be refused" in refused.content.decode()
    assert 'name="force"' in refused.content.decode()
    assert "reverted automatically unless somebody confirms it" in refused.content.decode()
    assert not BlocklistEntry.objects.exists()

    assert pages.submit("/log/ban/?network=203.0.113.0/24", lasts="1h", force="on").status_code == 302
    assert BlocklistEntry.objects.get().network == "203.0.113.0/24"


def test_a_very_large_network_and_a_duplicate_are_refused(pages):
    assert pages.submit("/log/ban/", network="64.0.0.0/2", lasts="1h").status_code == 409
    services.block_network(actor="test", network="203.0.113.7")
    duplicate = pages.submit("/log/ban/", network="203.0.113.7", lasts="1h")
    assert duplicate.status_code == 409
    assert "already exists" in duplicate.content.decode()


@pytest.mark.parametrize("values", [{"network": "nonsense"}, {"network": ""}, {"lasts": "2h"}, {"remark": "x" * 501}])
@pytest.mark.parametrize("page", ["ban", "allow"])
def test_the_form_shows_invalid_values(pages, page, values):
    refused = pages.submit(f"/log/{page}/", **({"network": "203.0.113.7", "lasts": "1h"} | values))

    assert refused.status_code == 400
    assert refused.context["form"].errors
    assert not BlocklistEntry.objects.exists()
    assert not AllowlistEntry.objects.exists()


@pytest.mark.parametrize("query", ["network=nonsense", "colour=red", "network=<script>alert(1)</script>"])
def test_an_invalid_network_is_refused(pages, query):
    page = pages.get(f"/log/ban/?{query}")
    assert page.status_code == 400
    assert "<script>alert" not in page.content.decode()


@pytest.mark.usefixtures("office")
def test_an_exemption_is_for_the_domain_of_the_row_and_an_hour(pages, log, noon):
    row = row_of(pages, log)
    assert pages.submit(row.allow.removeprefix("/wall/admin")).status_code == 302

    entry = AllowlistEntry.objects.get()
    assert (entry.network, entry.domain.name, entry.inspect) == (CLIENT, OFFICE, True)
    assert (entry.expires_at, entry.created_by) == (noon + timedelta(hours=1), "alice")


def test_an_exemption_for_every_host_must_be_chosen_explicitly(pages):
    path = "/log/allow/?network=203.0.113.7&host=nowhere.example"
    refused = pages.submit(path)
    assert refused.status_code == 400
    assert not AllowlistEntry.objects.exists()

    assert pages.submit(path, everywhere="on", inspect=None, lasts="ever").status_code == 302
    entry = AllowlistEntry.objects.get()
    assert (entry.domain, entry.inspect, entry.expires_at) == (None, False, None)


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example", "a=b\r\nSet-Cookie: x=y", "&" * 1500])
def test_the_redirect_after_saving_is_always_to_the_log(pages, back):
    done = pages.submit("/log/ban/", network="203.0.113.7", lasts="1h", back=back)
    assert done.status_code == 302
    assert done.url.startswith("/wall/admin/log/")
    assert "\n" not in done.url


def test_another_site_cannot_write(pages):
    page = pages.client.post("/wall/admin/log/ban/", {"network": "203.0.113.7", "lasts": "1h"})
    assert page.status_code == 403
    assert not BlocklistEntry.objects.exists()
