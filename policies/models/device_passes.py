"""Device passes."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.snapshot import Segment
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record
from policies.models.domains import AuthorizedDomain


class DevicePass(Record):
    """A program at an address that a user lets into a domain until ``expires_at``, without a credential."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="device_passes")
    domain = models.ForeignKey(AuthorizedDomain, on_delete=models.CASCADE, related_name="device_passes")
    address = models.CharField(max_length=45)
    program = models.CharField(max_length=60)
    expires_at = models.DateTimeField()

    recorded = Recorded(Resource.DEVICE_PASSES, api_fields("user_id", "domain", "address", "program", "expires_at"))
    segments = (Segment.DEVICE_PASSES,)

    class Meta:
        verbose_name = _("device pass")
        verbose_name_plural = _("device passes")
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.program} {self.domain}"
