"""URLs of webhooks."""

from django.urls import re_path
from rest_framework.routers import SimpleRouter

from webhooks.views import Deliveries, Webhooks

_WEBHOOK = r"^webhooks/(?P<pk>[0-9]{1,18})"
_DELIVERIES = r"^webhooks/(?P<webhook_id>[0-9]{1,18})/deliveries"
_DELIVERY = rf"{_DELIVERIES}/(?P<pk>[0-9]{{1,18}})"
router = SimpleRouter(trailing_slash=False)
router.register("webhooks", Webhooks, basename="webhooks")

urlpatterns = [
    *router.urls,
    re_path(rf"{_WEBHOOK}/rotate$", Webhooks.as_view({"post": "rotate"}), name="webhooks-rotate"),
    re_path(rf"{_WEBHOOK}/test$", Webhooks.as_view({"post": "test"}), name="webhooks-test"),
    re_path(rf"{_DELIVERIES}$", Deliveries.as_view({"get": "list"}), name="webhook-deliveries-list"),
    re_path(rf"{_DELIVERY}$", Deliveries.as_view({"get": "retrieve"}), name="webhook-deliveries-detail"),
    re_path(rf"{_DELIVERY}/resend$", Deliveries.as_view({"post": "resend"}), name="webhook-deliveries-resend"),
]
