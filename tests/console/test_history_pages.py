"""The policy history: revisions, restore, and changes that wait for confirmation."""

import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from gatewall.kernel.changes import MAX_CHANGES
from gatewall.models import PendingConfirmation, PolicyRevision
from gatewall.policy import revisions
from policies import services
from policies.history import confirmation
from policies.models import AllowlistEntry, BlocklistEntry
from tests.console.conftest import ME

pytestmark = pytest.mark.django_db


def text_of(response):
    """Return the visible text of a page."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode())))


def now():
    return revisions.current().revision


def test_the_newest_revision_is_first_with_actor_and_changes(pages):
    services.block_network(actor="bob", network="203.0.113.7", remark="scanner")
    entry = BlocklistEntry.objects.get()
    services.change_blocked_network(entry, actor="carol", remark="a scanner")

    words = text_of(pages.get("/history/"))

    assert words.index("carol") < words.index("bob")
    assert "changed : blocklist entry 203.0.113.7" in words.replace(": blocklist", " : blocklist").replace("  ", " ")
    assert "remark scanner a scanner" in words


def test_pages_are_bounded_and_filtered(pages):
    for number in range(30):
        services.block_network(actor="bob", network=f"203.0.113.{number}")
    services.block_country(actor="carol", country_code="AQ")

    first = pages.get("/history/").content.decode()
    assert first.count("<h2><a") == 25
    assert "?page=2" in first
    second = pages.get("/history/?page=2").content.decode()
    assert 0 < second.count("<h2><a") < 25
    assert pages.get("/history/?actor=carol").content.decode().count("<h2><a") == 1
    assert pages.get("/history/?resource=geo-block-rules").content.decode().count("<h2><a") == 1
    assert "There is no such revision." in text_of(pages.get("/history/?actor=nobody"))


@pytest.mark.parametrize(
    "query", ["day=x", "day=0001-01-01", "page=0", "page=-1", "page=9999999999", "resource=x", "x=1", "actor=%00"]
)
def test_an_invalid_parameter_is_refused(pages, query):
    response = pages.get(f"/history/?{query}")

    assert response.status_code == 400
    assert "has an invalid filter or page" in text_of(response)


def test_the_history_can_be_limited_to_one_day(pages):
    services.block_country(actor="carol", country_code="AQ")
    services.block_country(actor="carol", country_code="AX")
    yesterday = timezone.now() - timedelta(days=1)
    PolicyRevision.objects.filter(number=now() - 1).update(committed_at=yesterday)
    today = pages.get("/history/?actor=carol&day=" + timezone.now().strftime("%Y-%m-%d")).content.decode()
    before = pages.get("/history/?actor=carol&day=" + yesterday.strftime("%Y-%m-%d")).content.decode()

    assert today.count("<h2><a") == before.count("<h2><a") == 1
    assert f"/history/{now() - 1}/" in before
    assert f'<a href="?day={yesterday:%Y-%m-%d}" aria-current="true">Yesterday</a>' in before


@pytest.mark.parametrize("number", [0, 999_999, 2**63, 10**30])
def test_an_invalid_revision_is_not_found(pages, number):
    assert pages.get(f"/history/{number}/").status_code == 404


def test_a_revision_of_many_changes_shows_counts_and_source(pages):
    services.block_network(actor="bob", network="203.0.113.7")
    counts = [{"resource": "ip-black-list", "source": "import:drop", "action": "created", "count": MAX_CHANGES + 1}]
    PolicyRevision.objects.filter(pk=now()).update(changes=None, counts=counts)

    words = text_of(pages.get(f"/history/{now()}/"))

    assert "1001 × blocklist entry (import:drop) added" in words  # noqa: RUF001 - as the page has it
    assert "It changed too much" in words


def test_untrusted_text_is_escaped(pages):
    services.block_network(actor="<i>bob</i>", network="203.0.113.7", remark="<script>alert(1)</script>")

    for path in ("/history/", f"/history/{now()}/"):
        page = pages.get(path).content.decode()
        assert "<script>alert" not in page
        assert "<i>bob" not in page


def test_a_restore_is_shown_first_and_then_done(pages):
    services.block_network(actor="bob", network="203.0.113.7")
    number = now()
    services.unblock_network(BlocklistEntry.objects.get(), actor="bob")
    services.block_network(actor="bob", network="203.0.113.8")

    preview = pages.submit(f"/history/{number}/")
    words = text_of(preview)
    assert preview.status_code == 200
    assert "A restore would change: 1 × blocklist entry (manual) added" in words  # noqa: RUF001 - as the page has it
    assert [entry.network for entry in BlocklistEntry.objects.all()] == ["203.0.113.8"]
    assert now() == number + 2

    done = pages.client.post(preview.request["PATH_INFO"], sent(preview))

    assert (done.status_code, done.url) == (302, f"/wall/admin/history/{number + 3}/")
    assert [entry.network for entry in BlocklistEntry.objects.all()] == ["203.0.113.7"]
    assert PolicyRevision.objects.get(pk=now()).actor == "alice"


def sent(response, **values):
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', response.content.decode())[-1]
    head = re.search(r'name="head" value="(\d+)"', response.content.decode())[1]
    return {"csrfmiddlewaretoken": token, "head": head, **values}


def test_a_restore_whose_diff_has_changed_is_shown_again(pages):
    services.block_network(actor="bob", network="203.0.113.7")
    preview = pages.submit(f"/history/{now() - 1}/")
    services.block_network(actor="bob", network="203.0.113.8")

    response = pages.client.post(preview.request["PATH_INFO"], sent(preview))

    assert response.status_code == 409
    assert "Review the differences again" in text_of(response)
    assert BlocklistEntry.objects.count() == 2


def test_a_restore_is_refused_if_the_policy_changes_while_it_waits(pages, monkeypatch):
    services.block_network(actor="bob", network="203.0.113.7")
    preview = pages.submit(f"/history/{now() - 1}/")
    hold = revisions._hold

    def behind_another():
        monkeypatch.setattr(revisions, "_hold", hold)
        services.block_network(actor="bob", network="203.0.113.8")
        hold()

    monkeypatch.setattr(revisions, "_hold", behind_another)

    response = pages.client.post(preview.request["PATH_INFO"], sent(preview))

    assert response.status_code == 409
    assert BlocklistEntry.objects.count() == 2


def test_a_restore_of_the_current_policy_changes_nothing(pages):
    services.block_network(actor="bob", network="203.0.113.7")
    number = now() - 1
    services.unblock_network(BlocklistEntry.objects.get(), actor="bob")

    assert "Nothing would change" in text_of(pages.submit(f"/history/{number}/"))
    assert "This is the current policy." in text_of(pages.get(f"/history/{now()}/"))


def test_a_refused_restore_shows_the_reason(pages):
    services.block_network(actor="bob", network="203.0.113.7")
    PolicyRevision.objects.filter(pk=now()).update(changes=None)

    response = pages.submit(f"/history/{now() - 1}/")

    assert response.status_code == 409
    assert "too much to be recorded in full" in text_of(response)


def test_a_restore_that_locks_out_needs_force_and_confirmation(behind_proxy):
    services.block_network(actor="bob", network=ME)
    number = now()
    services.unblock_network(BlocklistEntry.objects.get(), actor="bob")

    preview = behind_proxy.submit(f"/history/{number}/")
    assert "It would refuse your own address." in text_of(preview)
    path = preview.request["PATH_INFO"]
    refused = behind_proxy.client.post(path, sent(preview))
    assert refused.status_code == 409
    assert "would be refused" in text_of(refused)
    assert not PendingConfirmation.objects.exists()

    forced = behind_proxy.client.post(path, sent(preview, force="on"))

    assert forced.status_code == 302
    assert PendingConfirmation.objects.get().address == ME
    assert "confirm it or it is reverted" in text_of(behind_proxy.client.get(forced.url))


@pytest.fixture
def waiting(behind_proxy):
    behind_proxy.submit("/policies/blocklistentry/add/", network=ME, force="on")
    return now()


def answer(pages, number, word):
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', pages.get("/").content.decode())[-1]
    return pages.client.post(
        f"/wall/admin/history/{number}/confirm/", {"csrfmiddlewaretoken": token, "word": word}, follow=True
    )


@pytest.mark.parametrize("path", ["/", "/history/", "/policies/blocklistentry/", "/explain/", "/import/"])
def test_a_pending_confirmation_is_shown_on_every_page(behind_proxy, waiting, path):
    words = text_of(behind_proxy.get(path))

    assert f"Revision {waiting} locks out the address it was made from: {ME}" in words
    assert f"{PendingConfirmation.objects.get().deadline:%Y-%m-%d %H:%M:%S} UTC" in words


def test_only_admins_see_and_answer_a_pending_confirmation(behind_proxy, waiting, client):
    words = text_of(client.get("/wall/admin/login/"))

    assert "locks out the address" not in words
    assert client.post(f"/wall/admin/history/{waiting}/confirm/", {"word": "keep"}).status_code == 302
    assert confirmation.pending().exists()


def test_a_pending_change_can_be_kept(behind_proxy, waiting):
    response = answer(behind_proxy, waiting, "keep")

    assert "The change is kept." in text_of(response)
    assert "was confirmed by alice" in text_of(response)
    assert not confirmation.pending().exists()
    assert BlocklistEntry.objects.exists()
    assert "does not wait for a confirmation" in text_of(answer(behind_proxy, waiting, "revert"))
    assert BlocklistEntry.objects.exists()


def test_a_pending_change_can_be_reverted_at_once(behind_proxy, waiting):
    services.allow_network(actor="bob", network="203.0.113.7")

    response = answer(behind_proxy, waiting, "revert")

    assert "The change is reverted." in text_of(response)
    assert not BlocklistEntry.objects.exists()
    assert AllowlistEntry.objects.exists()
    assert PolicyRevision.objects.get(pk=now()).actor == "alice"


@pytest.mark.parametrize("word", ["", "yes"])
def test_an_invalid_answer_keeps_the_change_pending(behind_proxy, waiting, word):
    assert "Keep it, or revert it." in text_of(answer(behind_proxy, waiting, word))
    assert confirmation.pending().exists()


def test_a_failed_revert_shows_the_reason(behind_proxy, waiting):
    PendingConfirmation.objects.update(problem="for a reason")

    assert "It could not be reverted: for a reason" in text_of(behind_proxy.get("/"))
