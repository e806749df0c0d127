"""URLs of webhooks."""

from django.urls import re_path
from rest_framework.routers import SimpleRouter

from webhooks import views

_WEBHOOK = r"^webhooks/(?P<pk>[0-9]{1,18})"
_DELIVERIES = r"^webhooks/(?P<webhook_id>[0-9]{1,18})/deliveries"
router = SimpleRouter(trailing_slash=False)
router.register("webhooks", views.Webhooks, basename="webhooks")

urlpatterns = [
    *router.urls,
    re_path(rf"{_WEBHOOK}/rotate$", views.Webhooks.as_view({"post": "rotate"}), name="webhooks-rotate"),
    re_path(rf"{_WEBHOOK}/test$", views.Webhooks.as_view({"post": "test"}), name="webhooks-test"),
    re_path(rf"{_DELIVERIES}$", views.Deliveries.as_view({"get": "list"}), name="webhook-deliveries-list"),
    re_path(
        rf"{_DELIVERIES}/(?P<pk>[0-9]{{1,18}})$",
        views.Deliveries.as_view({"get": "retrieve"}),
        name="webhook-deliveries-detail",
    ),
    re_path(
        rf"{_DELIVERIES}/(?P<pk>[0-9]{{1,18}})/resend$",
        views.Deliveries.as_view({"post": "resend"}),
        name="webhook-deliveries-resend",
    ),
]
