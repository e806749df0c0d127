"""API view of the device passes of users."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import Model, QuerySet
from django.http import Http404
from rest_framework.exceptions import PermissionDenied

from audit.figures.used_resources import UsedResource
from gatewall.api.permissions import IsAdminOrSelf
from gatewall.api.scopes import SESSION_ONLY
from gatewall.engine.model import SubjectKind
from gatewall.kernel.clientip import client_of_environ
from policies.grants import device_passes
from policies.grants.serializers import DevicePassFilters, DevicePassInput, DevicePassOutput
from policies.models import DevicePass


class DevicePasses(UsedResource):
    """Programs that a user lets into a domain from the user's own address, for at most 24 hours."""

    nouns = ("a device pass", "the device passes of a user")
    area = SESSION_ONLY
    permission_classes = [IsAdminOrSelf]
    input, output = DevicePassInput, DevicePassOutput
    use_kind = SubjectKind.DEVICE.value
    volatile = ("hits", "last_used_at")
    filterset_class = DevicePassFilters
    ordering_fields = ("id", "created_at", "expires_at")
    search_fields = ("program", "domain__name")
    http_method_names = ["get", "head", "options", "post", "delete"]

    def get_queryset(self) -> QuerySet[DevicePass]:
        self._user()
        return DevicePass.objects.filter(user=self.kwargs["user_id"]).select_related("domain")

    def create_row(self, **values: Any) -> Model:
        user = self._user()
        if user.pk != self.request.user.pk:
            raise PermissionDenied("a device pass is for the caller's own address: users make their own")
        address = client_of_environ(self.request.META, settings.GATEWALL_TRUSTED_PROXIES)
        return device_passes.create_device_pass(user=user, address=address, **values)

    def delete_row(self, row: DevicePass) -> None:
        device_passes.delete_device_pass(row, actor=self.actor)

    def _user(self) -> Any:
        user = get_user_model()._default_manager.filter(pk=self.kwargs["user_id"]).first()  # noqa: SLF001 - documented API
        if user is None:
            raise Http404
        return user
