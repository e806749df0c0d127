"""Applying a plan on its page: once, confirmed or reverted, and refused if the policy has changed."""

from datetime import timedelta

import pytest
from django.utils import timezone

from gatewall.models import PendingConfirmation, PolicyRevision, RefusalWatch
from gatewall.policy import revisions
from gatewall.whatif.backtest.models import Backtest
from policies import services
from policies.document.export import export
from policies.history import confirmation
from policies.models import AuthorizedDomain, BlocklistEntry
from tests.admin.conftest import ADMIN, Fields
from tests.api.plans import CLOSED
from tests.console.plans import PLANS, finish, planned
from tests.support.cast import OFFICE

pytestmark = pytest.mark.django_db
EXAMPLE = "0198e6f4-7c00-7000-8000-000000000001"


def test_a_plan_is_applied_confirmed_and_watched(pages, office):
    path = planned(pages, CLOSED)
    finish()
    base = revisions.current().revision

    applied = pages.submit(path, do="apply", confirm_minutes="10", undo_people="3", undo_minutes="30")
    page = pages.words(applied)

    assert applied.url == f"{ADMIN}{path}"
    made = PolicyRevision.objects.get(number=base + 1)
    waiting, watch = PendingConfirmation.objects.get(), RefusalWatch.objects.get()
    assert (made.actor, waiting.revision, watch.revision) == ("alice", made.number, made.number)
    assert waiting.deadline - waiting.made_at == timedelta(minutes=10)
    assert (watch.people, watch.until - watch.made_at) == (3, timedelta(minutes=30))
    assert "Keep it" in page
    assert "unless somebody keeps it" in page
    assert "if it refuses more than 3 people" in page
    assert "So far it refused 0 people" in page
    assert 'value="apply"' not in page
    assert f"applied as revision {made.number}" in pages.words(pages.get(PLANS))
    RefusalWatch.objects.update(refused=[{"id": 1, "name": "Bob", "host": OFFICE, "decision_id": EXAMPLE}])
    assert "So far it refused 1 person" in pages.words(pages.get(path))
    confirmation.confirm(made.number, actor="alice")
    assert "It was confirmed by alice." in pages.words(pages.get(path))
    assert f'/history/{base}/#restore"' in pages.words(pages.get(path))


def test_an_unconfirmed_plan_is_shown_as_reverted(pages, office):
    path = planned(pages, CLOSED)
    finish()
    pages.submit(path, do="apply")
    confirmation.revert_overdue(timezone.now() + timedelta(minutes=6))

    assert "It was reverted" in pages.words(pages.get(path))
    assert AuthorizedDomain.objects.get(name=OFFICE).access == "authenticated"


def test_a_stale_plan_is_refused_and_can_be_planned_again(pages, office):
    path = planned(pages, CLOSED, window="24")
    finish()
    services.register_domain(actor="bob", name="other.example", access="public")

    assert "The policy was changed since this plan was made" in pages.words(pages.get(path))
    token = Fields(pages.get(path).content.decode()).values["csrfmiddlewaretoken"][0]
    refused = pages.client.post(f"{ADMIN}{path}", {"csrfmiddlewaretoken": token, "do": "apply", "confirm_minutes": "5"})
    assert refused.status_code == 409
    assert "Plan again" in pages.words(refused)
    first = Backtest.objects.get()
    again = pages.client.post(f"{ADMIN}{PLANS}", {"csrfmiddlewaretoken": token, "again": str(first.pk)})

    assert again.status_code == 302
    row = Backtest.objects.first()
    assert row.pk != first.pk
    assert row.end_time - row.start_time == timedelta(hours=24)
    assert "The policy was changed since" not in pages.words(again)
    for wrong in ("x", "9" * 30, "0"):
        answer = pages.client.post(f"{ADMIN}{PLANS}", {"csrfmiddlewaretoken": token, "again": wrong})
        assert answer.status_code == 404


def test_a_plan_that_locks_out_its_author_must_be_forced(behind_proxy, office):
    own = "version: 1\nblocklist:\n- ip: 198.51.100.7\n"
    path = planned(behind_proxy, own)
    finish()
    assert "It would lock out the address that it was planned from." in behind_proxy.words(behind_proxy.get(path))
    assert "locks its author out" in behind_proxy.words(behind_proxy.get(PLANS))

    assert 'name="force"' not in behind_proxy.words(behind_proxy.get(path))
    refused = behind_proxy.submit(path, do="apply")
    assert refused.status_code == 409
    assert 'name="force"' in behind_proxy.words(refused)
    assert not BlocklistEntry.objects.exists()
    assert behind_proxy.submit(path, do="apply", force="on").status_code == 302
    assert BlocklistEntry.objects.exists()


@pytest.mark.parametrize(
    "values",
    [
        {"confirm_minutes": "61"},
        {"confirm_minutes": "x"},
        {"undo_people": "3"},
        {"undo_minutes": "3"},
        {"undo_people": "-1", "undo_minutes": "3"},
        {"undo_people": "1", "undo_minutes": "1441"},
    ],
)
def test_invalid_conditions_apply_nothing(pages, office, values):
    path = planned(pages, CLOSED)
    finish()
    before = revisions.current()

    refused = pages.submit(path, do="apply", **values)

    assert refused.status_code == 400
    assert "errorlist" in pages.words(refused)
    assert revisions.current() == before


def test_a_plan_that_changes_nothing_makes_no_revision(pages, office):
    path = planned(pages, export({"domains"}).canonical().decode())
    finish()
    assert "Nothing: the policy is the same already." in pages.words(pages.get(path))
    before = revisions.current()

    assert "There was nothing to change." in pages.words(pages.submit(path, do="apply"))
    assert revisions.current() == before
