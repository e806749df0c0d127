"""Model of remembered devices."""

from django.db import models
from django.utils import timezone


class RememberedDevice(models.Model):
    """Browser in which a user is not asked for the second factor after the password.

    ``digest`` is that of the secret in its cookie. The device ends with the user's sessions (``session_version``).
    """

    user = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="remembered_devices")
    digest = models.CharField(max_length=64, unique=True)
    session_version = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(db_index=True)
    last_used_at = models.DateTimeField(null=True)
    client_ip = models.GenericIPAddressField()
    user_agent = models.CharField(max_length=256, blank=True)

    class Meta:
        ordering = ["id"]
