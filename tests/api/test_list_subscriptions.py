"""Values of list subscriptions. For fetching see tests/integration/test_list_fetching.py."""

from datetime import timedelta

import pytest
from django.utils import timezone

from policies.models import ListSubscription

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "body",
    [
        {"name": "../x"},
        {"name": "drop", "url": "http://lists.example/"},
        {"url": "https://lists.example/?key=hunter2"},
        {"url": "https://u:hunter2@lists.example/"},
        {"url": "https://lists.example/\u00e4"},
        {"url": "https://"},
        {"url": "https://lists.example:/a"},
        {"url": "https://%6cists.example/a"},
        {"url": "https://lists.example\\evil/a"},
        {"url": "https://lists..example/a"},
        {"url": "https://10.0.0.1/"},
        {"url": "ftp://lists.example/"},
        {"interval_minutes": 14},
        {"format": "xml"},
    ],
)
def test_an_invalid_subscription_is_refused(admin, body):
    answer = admin.post("/list-subscriptions", {"name": "drop", "url": "https://lists.example/a", **body})

    assert answer.status_code == 400
    assert "hunter2" not in answer.content.decode()
    assert not ListSubscription.objects.exists()


def test_the_name_cannot_be_changed(admin):
    made = admin.post("/list-subscriptions", {"name": "drop", "url": "https://lists.example/a"}).json()

    answer = admin.put(f"/list-subscriptions/{made['id']}", {"name": "other"})

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "name")


def test_only_a_real_change_brings_the_next_fetch_forward(admin):
    made = admin.post("/list-subscriptions", {"name": "drop", "url": "https://lists.example/a"}).json()
    later = timezone.now() + timedelta(hours=5)
    ListSubscription.objects.update(next_at=later)
    path = f"/list-subscriptions/{made['id']}"

    admin.put(path, {"url": made["url"], "enabled": True})
    assert ListSubscription.objects.get().next_at == later

    admin.put(path, {"interval_minutes": 60})
    assert ListSubscription.objects.get().next_at < later
