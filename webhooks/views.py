"""API: webhooks."""

from typing import Any

from django.db.models import Model, QuerySet
from django.http import Http404
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api import etags
from gatewall.api.fresh_sign_in import reauthenticated_values
from gatewall.api.operations import operation
from gatewall.api.resources import Resource
from gatewall.api.scopes import SYSTEM
from webhooks import services
from webhooks.models import Delivery, Webhook
from webhooks.serializers import (
    BECAME,
    DeliveryFilters,
    DeliveryOutput,
    DeliveryWithDataOutput,
    NothingInput,
    RotateInput,
    SecretRotated,
    SecretShownOnce,
    WebhookFilters,
    WebhookInput,
    WebhookOutput,
)


class Webhooks(Resource):
    """Webhooks: endpoints that receive security events. The secret is shown once, at creation."""

    nouns = ("a webhook", "webhooks")
    area = SYSTEM
    input, output = WebhookInput, WebhookOutput
    output_on_create = SecretShownOnce
    volatile = BECAME
    filterset_class = WebhookFilters
    ordering_fields = ("id", "created_at", "name", "failing_since", "succeeded_at")
    search_fields: tuple[str, ...] = ("name", "url", "remark")

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not getattr(request.user, "is_staff", False):
            self.search_fields = ("name", "remark")  # a search would reveal the URL character by character

    def get_queryset(self) -> QuerySet[Webhook]:
        return Webhook.objects.all()

    def create_row(self, **values: Any) -> Webhook:
        webhook, self._secret = services.create_webhook(actor=self.actor, **values)
        return webhook

    def created(self, row: Model) -> dict[str, Any]:
        return {**super().created(row), "secret": self._secret}

    def change_row(self, row: Webhook, **values: Any) -> Webhook:
        return services.change_webhook(row, actor=self.actor, **values)

    def delete_row(self, row: Webhook) -> None:
        services.delete_webhook(row, actor=self.actor)

    @operation(body=RotateInput, answer=SecretRotated, refuses={404})
    def rotate(self, request: Request, **path: Any) -> Response:
        """Rotate the secret of a webhook and return it once; the previous secret signs for another day."""
        form, webhook = RotateInput(data=request.data), self.get_object()
        form.is_valid(raise_exception=True)
        reauthenticated_values(request, form)
        webhook, secret = services.rotate_secret(webhook, actor=self.actor)
        return Response({**self.show(webhook), "secret": secret})

    @operation(body=NothingInput, answer=DeliveryOutput, status=202, refuses={404, 409})
    def test(self, request: Request, **path: Any) -> Response:
        """Send a test notice."""
        self.body(NothingInput)
        delivery = services.send_test(self.get_object(), actor=self.actor)
        return Response(DeliveryOutput(delivery).data, status=status.HTTP_202_ACCEPTED)


class Deliveries(Resource):
    """Deliveries of a webhook, newest first."""

    nouns = ("a delivery", "the deliveries of a webhook")
    area = SYSTEM
    input, output = NothingInput, DeliveryOutput
    filterset_class = DeliveryFilters
    ordering_fields = ("id", "created_at", "next_at")
    http_method_names = ["get", "head", "options", "post"]

    def get_queryset(self) -> QuerySet[Delivery]:
        webhook_id = int(self.kwargs["webhook_id"])
        if not Webhook.objects.filter(pk=webhook_id).exists():
            raise Http404
        return Delivery.objects.filter(webhook_id=webhook_id).select_related("notice")

    @operation(answer=DeliveryWithDataOutput, is_tagged=True)
    def retrieve(self, request: Request, **path: Any) -> Response:
        """Show a delivery with the data that was sent."""
        shown = dict(DeliveryWithDataOutput().to_representation(self.get_object()))
        return etags.conditional_response(request, shown, etags.tag_of(shown))

    @operation(body=NothingInput, answer=DeliveryOutput, status=202, refuses={404, 409})
    def resend(self, request: Request, **path: Any) -> Response:
        """Send a notice again under the same message id."""
        self.body(NothingInput)
        delivery = services.resend(self.get_object())
        return Response(DeliveryOutput(delivery).data, status=status.HTTP_202_ACCEPTED)
