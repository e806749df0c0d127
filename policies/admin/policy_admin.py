"""Admin pages of policy resources, written by the services that the resource names."""

from typing import Any, ClassVar

from django.db import models
from django.http import HttpRequest

from gatewall.api.caller import caller_of
from gatewall.api.service_admin import ServiceAdmin, actor, forced
from gatewall.policy.resources import PolicyResource, Write


class PolicyAdmin(ServiceAdmin):
    """The admin pages of a resource."""

    resource: ClassVar[PolicyResource]

    def create_row(self, request: HttpRequest, **values: Any) -> models.Model:
        row: models.Model = self.write(request, Write.CREATE, **values)
        return row

    def change_row(self, request: HttpRequest, row: Any, **values: Any) -> object:
        return self.write(request, Write.UPDATE, row, **values)

    def delete_row(self, request: HttpRequest, row: Any) -> None:
        self.write(request, Write.DELETE, row, force=forced(request))

    def write(self, request: HttpRequest, way: Write, *row: Any, force: bool = False, **values: Any) -> Any:
        """Write the row by the service of the resource, on behalf of the caller."""
        return self.resource.write(way, *row, actor=actor(request), caller=caller_of(request), force=force, **values)
