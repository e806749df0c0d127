"""API: remembered devices of users."""

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone

from accounts import browser
from accounts.models import User
from accounts.remembered_devices import selectors, services
from accounts.remembered_devices.serializers import RememberedDeviceFilters, RememberedDeviceOutput
from accounts.remembered_models import RememberedDevice
from gatewall.api.permissions import IsAdminOrSelf
from gatewall.api.resources import Resource
from gatewall.api.scopes import USERS


class RememberedDevices(Resource):
    """Browsers in which a user is not asked for the second factor; deleting one asks for it there again."""

    nouns = ("a remembered browser", "the remembered browsers of a user")
    area = USERS
    permission_classes = [IsAdminOrSelf]
    output = RememberedDeviceOutput
    volatile = ("last_used_at",)
    filterset_class = RememberedDeviceFilters
    ordering_fields = ("id", "created_at", "expires_at", "last_used_at")
    http_method_names = ["get", "head", "options", "delete"]

    def get_queryset(self) -> QuerySet[RememberedDevice]:
        user_id = int(self.kwargs["user_id"])
        if not User.objects.filter(pk=user_id).exists():
            raise Http404
        return selectors.live_devices(user_id, timezone.now()).select_related("user")

    def delete_row(self, row: RememberedDevice) -> None:
        services.forget(row, actor=self.actor, client_ip=browser.visitor(self.request).client_ip)
