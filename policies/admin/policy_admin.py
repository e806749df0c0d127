"""Admin pages of policy resources; writes go through the resource's services."""

from typing import Any, ClassVar

from django.db import models
from django.http import HttpRequest

from gatewall.api.caller import caller_of
from gatewall.api.service_admin import ServiceAdmin, actor, forced
from gatewall.policy.resources import PolicyResource, Write


class PolicyAdmin(ServiceAdmin):
    """Base class of the admin pages of a policy resource."""

    resource: ClassVar[PolicyResource]

    def create_row(self, request: HttpRequest, **values: Any) -> models.Model:
        row: models.Model = self.write(request, Write.CREATE, **values)
        return row

    def change_row(self, request: HttpRequest, row: Any, **values: Any) -> object:
        return self.write(request, Write.UPDATE, row, **values)

    def delete_row(self, request: HttpRequest, row: Any) -> None:
        self.write(request, Write.DELETE, row, force=forced(request))

    def write(self, request: HttpRequest, way: Write, *row: Any, force: bool = False, **values: Any) -> Any:
        """Call the resource's service for this write, with actor and caller of the request."""
        return self.resource.write(way, *row, actor=actor(request), caller=caller_of(request), force=force, **values)
