"""Webhooks in the Django admin: the secret shown once, test messages, resending."""

import pytest

from tests.admin.conftest import ADMIN, Fields
from tests.support.receiver import a_webhook
from webhooks import services
from webhooks.models import Delivery, Webhook

pytestmark = pytest.mark.django_db
LIST, OUTBOX = "/webhooks/webhook/", "/webhooks/delivery/"
FORM = {"name": "pager", "url": "https://receiver.example/hook", "least_severity": "low"}


def act(pages, page, action, *rows):
    token = Fields(pages.get(page).content.decode()).values["csrfmiddlewaretoken"][0]
    chosen = {"action": action, "_selected_action": [row.pk for row in rows]}
    return pages.client.post(f"{ADMIN}{page}", {"csrfmiddlewaretoken": token, **chosen}, follow=True)


def test_a_webhook_is_made_and_its_secret_shown_once(pages):
    answer = pages.submit(f"{LIST}add/", **FORM, kinds=["client.banned", "login.failed"])

    webhook = Webhook.objects.get()
    assert (webhook.kinds, webhook.created_by) == (["client.banned", "login.failed"], "alice")
    assert ">whsec_" in answer.content.decode()
    assert "whsec_" not in pages.get(f"{LIST}{webhook.pk}/change/").content.decode()


def test_the_form_shows_the_refusal_of_the_service(pages):
    answer = pages.submit(f"{LIST}add/", **{**FORM, "url": "https://127.0.0.1/hook"})

    assert answer.status_code == 200
    assert "127.0.0.1 is not a public address" in answer.content.decode()
    assert not Webhook.objects.exists()


def test_a_webhook_is_changed_and_deleted(pages):
    webhook = a_webhook()
    pages.submit(f"{LIST}{webhook.pk}/change/", **FORM, remark="for the night")
    webhook.refresh_from_db()
    assert (webhook.remark, webhook.least_severity) == ("for the night", "low")

    pages.delete(f"{LIST}{webhook.pk}/delete/")
    assert not Webhook.objects.exists()


def test_a_new_secret_is_made_for_one_and_shown_once(pages):
    webhook, other = a_webhook(), a_webhook(name="other")
    before = webhook.sealed_secret

    assert "Choose one webhook" in act(pages, LIST, "rotate_secret", webhook, other).content.decode()
    assert ">whsec_" in act(pages, LIST, "rotate_secret", webhook).content.decode()
    webhook.refresh_from_db()
    assert (webhook.sealed_previous, webhook.sealed_secret == before) == (before, False)


def test_a_test_is_sent_or_its_problem_is_shown(pages):
    webhook, other = a_webhook(), a_webhook(name="other", enabled=False)

    html = act(pages, LIST, "send_test", webhook, other).content.decode()

    assert "A test is on its way to pager" in html
    assert "Nothing was sent to other: the webhook is switched off" in html
    assert [row.webhook_id for row in Delivery.objects.all()] == [webhook.pk]


def test_a_delivery_can_only_be_viewed_and_resent(pages):
    delivery = services.send_test(a_webhook(), actor="alice")
    Delivery.objects.update(status="failed", next_at=None)

    page = pages.get(f"{OUTBOX}{delivery.pk}/change/").content.decode()
    assert delivery.notice.message_id in page
    assert pages.get(f"{OUTBOX}add/").status_code == 403
    assert pages.get(f"{OUTBOX}{delivery.pk}/delete/").status_code == 403

    assert "It is sent again: webhook.test" in act(pages, OUTBOX, "send_again", delivery).content.decode()
    delivery.refresh_from_db()
    assert delivery.status == "waiting"


@pytest.mark.parametrize("lookup", ["sealed_secret__startswith", "webhook__sealed_secret__startswith"])
def test_filters_by_sealed_secrets_are_refused(pages, lookup):
    page = OUTBOX if lookup.startswith("webhook") else LIST

    assert pages.get(f"{page}?{lookup}=v1").status_code == 400
