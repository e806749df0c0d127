"""API: authenticator apps of users."""

from typing import Any

from django.db.models import QuerySet
from django.http import Http404

from accounts import browser, fresh_sign_in, selectors
from accounts.models import TotpDevice, User
from accounts.sign_in.serializers import ReauthenticationInput
from accounts.totp_devices import services
from accounts.totp_devices.serializers import TotpDeviceFilters, TotpDeviceInput, TotpDeviceOutput
from gatewall.api.permissions import IsAdminOrSelf
from gatewall.api.resources import Resource
from gatewall.api.scopes import USERS


class TotpDevices(Resource):
    """Authenticator apps that a user has confirmed, without their secrets. Removing one needs a fresh sign-in."""

    nouns = ("an authenticator app", "the authenticator apps of a user")
    area = USERS
    input, output = TotpDeviceInput, TotpDeviceOutput
    permission_classes = [IsAdminOrSelf]
    volatile = ("last_used_at",)
    filterset_class = TotpDeviceFilters
    ordering_fields = ("id", "created_at", "name", "last_used_at")
    http_method_names = ["get", "head", "options", "put", "delete"]

    def get_queryset(self) -> QuerySet[TotpDevice]:
        user_id = int(self.kwargs["user_id"])
        if not User.objects.filter(pk=user_id).exists():
            raise Http404
        return selectors.totp_devices_of(user_id)

    def change_row(self, row: TotpDevice, **values: Any) -> TotpDevice:
        return services.rename(row, values.get("name", row.name))

    def delete_row(self, row: TotpDevice) -> None:
        body = ReauthenticationInput(data=self.request.data or {})
        body.is_valid(raise_exception=True)
        sent = {name: body.validated_data.get(name) for name in ("password", "code")}
        fresh_sign_in.require(self.request, **sent)
        services.remove(row, actor=self.actor, client_ip=browser.visitor(self.request).client_ip)
