"""Explaining as of a revision, from the pages."""

import pytest

from gatewall.models import PolicyRevision
from gatewall.policy import revisions
from policies import services
from tests.console.test_explain_pages import receipt, text_of
from tests.console.test_made_up_requests import MADE_UP
from tests.support.cast import CLIENT

pytestmark = pytest.mark.django_db


def now():
    return revisions.current().revision


def test_a_made_up_request_is_explained_as_of_the_revision_of_the_history_page(pages, office):
    entry = services.block_network(actor="", network=CLIENT)
    blocked = now()
    services.unblock_network(entry, actor="")

    history = pages.get(f"/history/{blocked}/").content.decode()
    assert f'href="/wall/admin/explain/?revision={blocked}#made-up"' in history
    assert f'value="{blocked}"' in pages.get(f"/explain/?revision={blocked}").content.decode()

    assert "403 refused" in text_of(pages.submit("/explain/", **MADE_UP, revision=str(blocked)))
    assert "403 refused" not in text_of(pages.submit("/explain/", **MADE_UP))


def test_a_receipt_is_decided_again_as_of_its_own_and_another_revision(pages, visits, office):
    entry = services.block_network(actor="", network=CLIENT)
    blocked = now()
    decision_id = visits()
    services.unblock_network(entry, actor="")

    own = receipt(pages, decision_id, f"?revision={blocked}")
    other = receipt(pages, decision_id, f"?revision={now()}")

    assert f"As of revision {blocked}" in own
    assert "The answer is the same as the recorded one." in own
    assert "as of this revision" in other
    assert "The answer is the same as the recorded one." not in other


@pytest.mark.parametrize(("number", "status"), [("999", 404), ("x", 400), ("-1", 400), ("9" * 30, 400)])
def test_an_invalid_revision_is_refused(pages, visits, office, number, status):
    response = pages.get(f"/explain/{visits()}/?revision={number}")

    assert response.status_code == status
    assert pages.submit("/explain/", **MADE_UP, revision=number).status_code == 400


def test_the_page_states_which_entries_are_not_of_the_revision(pages, visits, office):
    decision_id, first = visits(), now()
    services.block_network(actor="", network="203.0.113.8", source="import:drop")
    PolicyRevision.objects.filter(pk=now()).update(changes=None)
    words = f"The entries of import:drop are the current ones: revision {now()} changed too many"
    assert words in receipt(pages, decision_id, f"?revision={first}")
    assert words in text_of(pages.submit("/explain/", **MADE_UP, revision=str(first)))

    PolicyRevision.objects.filter(pk=now()).update(counts=None)

    assert pages.get(f"/explain/{decision_id}/?revision={first}").status_code == 409
    response = pages.submit("/explain/", **MADE_UP, revision=str(first))
    assert (response.status_code, f"revision {now()}" in text_of(response)) == (409, True)
