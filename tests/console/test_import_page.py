"""The import of a list: a dry run first, then exactly the changes shown."""

import html
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from gatewall.models import PolicyRevision
from policies import services
from policies.lists.preview import MAX_BYTES
from policies.models import AuthorizedDomain, BlocklistEntry
from tests.admin.conftest import Fields
from tests.console.conftest import ME

pytestmark = pytest.mark.django_db

LIST = "# a list\n203.0.113.0/24 # bad\n192.0.2.7\n10.0.0.0/8\n"


def text_of(response):
    """Return the visible text of a page."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode())))


def dry_run(pages, text=LIST, name="drop", **values):
    return pages.submit("/import/", name=name, text=text, **values)


def as_shown(pages, response, **values):
    """Press the button below the preview."""
    page = response.content.decode()
    form = page[page.index('name="shown"') :]
    sent = Fields(form[: form.index("</form>")]).values
    shown = re.search(r'name="shown" value="([^"]+)"', page)[1]
    token = Fields(page).values["csrfmiddlewaretoken"][0]
    return pages.client.post("/wall/admin/import/", {**sent, "shown": shown, "csrfmiddlewaretoken": token, **values})


def networks():
    return sorted(BlocklistEntry.objects.filter(source="import:drop").values_list("network", flat=True))


def test_a_dry_run_shows_the_result_and_changes_nothing(pages):
    services.allow_network(actor="x", network="203.0.113.9")
    services.allow_network(actor="x", network="198.18.0.1")

    words = text_of(dry_run(pages))

    assert "2 added 0 removed 0 changed 0 unchanged 0 invalid lines" in words
    assert "+ 203.0.113.0/24" in words
    assert "1: loopback, private or reserved" in words
    assert "1 network that the list has too stays allowed. 203.0.113.9" in words
    assert networks() == []


def test_a_network_that_is_allowed_at_two_domains_is_one_network(pages):
    for name in ("app.example.com", "wiki.example.com"):
        services.register_domain(actor="x", name=name, access="authenticated")
        domain = AuthorizedDomain.objects.get(name=name)
        services.allow_network(actor="x", network="203.0.113.9", domain=domain)

    assert "1 network that the list has too stays allowed. 203.0.113.9" in text_of(dry_run(pages))


def test_the_import_applies_the_previewed_changes(pages):
    response = as_shown(pages, dry_run(pages, days="7"))

    assert response.status_code == 302
    assert networks() == ["192.0.2.7", "203.0.113.0/24"]
    row = PolicyRevision.objects.latest("number")
    assert (row.actor, response.url) == ("alice", f"/wall/admin/history/{row.number}/")
    entry = BlocklistEntry.objects.get(network="203.0.113.0/24")
    assert (entry.remark, entry.created_by, (entry.expires_at - entry.created_at).days in {6, 7}) == (
        "bad",
        "alice",
        True,
    )


def test_a_file_is_read_like_pasted_text(pages):
    uploaded = SimpleUploadedFile("list.csv", b"ip,comment\r\n203.0.113.7,x\r\n")
    token = Fields(pages.get("/import/").content.decode()).values["csrfmiddlewaretoken"][0]
    response = pages.client.post(
        "/wall/admin/import/", {"csrfmiddlewaretoken": token, "name": "drop", "file": uploaded}
    )

    assert "1 added" in text_of(response)
    assert as_shown(pages, response).status_code == 302
    assert networks() == ["203.0.113.7"]


def test_the_next_version_of_a_list_is_compared(pages):
    as_shown(pages, dry_run(pages))

    words = text_of(dry_run(pages, text="192.0.2.7\n198.18.0.0/24\n"))

    assert "1 added 1 removed 0 changed 1 unchanged" in words
    same = as_shown(pages, dry_run(pages))
    assert "nothing was changed" in pages.words(same)


def test_a_list_that_differs_from_the_preview_is_refused(pages):
    response = as_shown(pages, dry_run(pages), text="198.18.0.0/24")

    assert response.status_code == 409
    assert "The list differs from the preview" in text_of(response)
    assert networks() == []


@pytest.mark.parametrize(
    "changed", [{"name": "other"}, {"force": "on"}, {"days": "3"}, {"kind": "plain"}, {"shown": "x"}]
)
def test_options_that_differ_from_the_preview_are_refused(pages, changed):
    assert as_shown(pages, dry_run(pages), **changed).status_code == 409
    assert not BlocklistEntry.objects.exists()


def test_an_import_whose_result_has_changed_is_shown_again(pages):
    shown = dry_run(pages)
    services.block_network(actor="x", network="192.0.2.7", source="import:drop")

    response = as_shown(pages, shown)

    assert response.status_code == 409
    assert "has changed since this was shown" in text_of(response)
    assert networks() == ["192.0.2.7"]
    assert as_shown(pages, response).status_code == 302


def test_a_suspicious_list_is_kept_in_the_form_and_needs_the_force_box(pages):
    assert 'name="force"' not in pages.get("/import/").content.decode()
    refused = dry_run(pages, text="8.0.0.0/7\n").content.decode()
    assert 'name="force"' in refused
    assert "8.0.0.0/7\n</textarea>" in refused
    assert "--force" not in refused
    assert as_shown(pages, dry_run(pages, text="8.0.0.0/7\n", force="on")).status_code == 302
    assert networks() == ["8.0.0.0/7"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"text": "0.0.0.0/1"}, "is larger than /8"),
        ({"text": "nonsense\nmore\n192.0.2.7"}, "line 1"),
        ({"text": "127.0.0.1"}, "no usable entry"),
        ({"text": " \n "}, "Paste a list"),
        ({"name": "a b"}, "name:"),
        ({"name": ""}, "name:"),
        ({"days": "0"}, "days:"),
        ({"kind": "xml"}, "kind:"),
        ({"text": "192.0.2.7 # " + "x" * MAX_BYTES}, "at most 512 KiB"),
    ],
)
def test_an_invalid_import_is_refused(pages, values, words):
    response = dry_run(pages, **values)

    assert response.status_code == 400
    assert words in text_of(response)
    assert not BlocklistEntry.objects.exists()


def test_invalid_lines_are_shown_up_to_a_limit(pages):
    lines = [f"203.0.{number // 256}.{number % 256}" for number in range(2000)]
    words = text_of(dry_run(pages, text="\n".join([*lines, *["<b>bad</b>"] * 15])))

    assert "15 invalid lines" in words
    assert words.count(": line") + words.count(" line 20") <= 20
    assert "<b>bad" not in dry_run(pages, text="\n".join([*lines, *["<b>bad</b>"] * 15])).content.decode()


def test_a_list_with_the_callers_own_address_is_refused(behind_proxy):
    response = dry_run(behind_proxy, text=f"{ME}\n192.0.2.7\n")

    assert "would lock you out" in text_of(response)
    assert 'name="shown"' not in response.content.decode()

    services.allow_network(actor="x", network="198.51.100.0/24")
    allowed = dry_run(behind_proxy, text=f"{ME}\n192.0.2.7\n")
    assert "would lock you out" not in text_of(allowed)
    assert as_shown(behind_proxy, allowed).status_code == 302


def test_the_guard_applies_even_if_the_dry_run_passed_it(behind_proxy):
    entry = services.allow_network(actor="x", network="198.51.100.0/24")
    shown = dry_run(behind_proxy, text=f"{ME}\n192.0.2.7\n")
    services.disallow_network(entry, actor="x")

    response = as_shown(behind_proxy, shown)

    assert response.status_code == 409
    assert f"our own address {ME} would be refused" in text_of(response)
    assert not BlocklistEntry.objects.exists()
