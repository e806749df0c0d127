"""Models of passkeys."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.models import Record


class Passkey(Record):
    """WebAuthn credential of a user; the owner chooses its ``name``. Id and public key (COSE) are in base64url.

    ``rp_id`` is the domain that the browser binds it to, ``user_handle`` the id of the user in authenticators.
    ``sign_count`` is the counter of its last use, 0 if the authenticator has none. ``backup_eligible``: its provider
    may copy it to other devices; ``backed_up``: it has done so.
    """

    user = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="passkeys", editable=False)
    name = models.CharField(max_length=100)
    credential_id = models.CharField(max_length=1400, unique=True, editable=False)
    public_key = models.CharField(max_length=2000, editable=False)
    user_handle = models.CharField(max_length=86, editable=False)
    rp_id = models.CharField(max_length=253, editable=False)
    sign_count = models.PositiveBigIntegerField(default=0, editable=False)
    transports = models.JSONField(default=list, blank=True, editable=False)
    backup_eligible = models.BooleanField(default=False, editable=False)
    backed_up = models.BooleanField(default=False, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = _("passkey")
        verbose_name_plural = _("passkeys")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class UsedPasskeyChallenge(models.Model):
    """Digest of an answered passkey challenge, so that each challenge is accepted only once."""

    digest = models.CharField(max_length=64, primary_key=True)
    expires_at = models.DateTimeField(db_index=True)
