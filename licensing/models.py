"""Models of licenses, git tokens and app tokens. Rows contain only digests of tokens."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record
from policies.access_conditions import validate_path_prefixes


class MachineCredential(Record):
    """Prefix and SHA-256 digest of a token."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class License(MachineCredential):
    """A token of a machine, for all or some domains."""

    is_active = models.BooleanField(default=True)
    all_domains = models.BooleanField(default=True)
    authorized_domains = models.ManyToManyField("policies.AuthorizedDomain", blank=True, related_name="licenses")
    remark = models.CharField(max_length=500, blank=True)

    recorded = Recorded(
        Resource.LICENSES,
        api_fields("name", "prefix", "expires_at", "is_active", "all_domains", "authorized_domains", "remark"),
    )

    class Meta:
        verbose_name = _("license")
        verbose_name_plural = _("licenses")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["name"], name="license_name_is_unique")]


class GitToken(MachineCredential):
    """A user's token for git, instead of the password."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="git_tokens")

    recorded = Recorded(Resource.GIT_TOKENS, api_fields("user_id", "name", "prefix", "expires_at"))

    class Meta:
        verbose_name = _("git token")
        verbose_name_plural = _("git tokens")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="git_token_name_is_unique_per_user")]


class AppToken(MachineCredential):
    """A user's token for programs that cannot sign in, for some domains and paths of the user's scope."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="app_tokens")
    all_domains = models.BooleanField(default=False)
    authorized_domains = models.ManyToManyField("policies.AuthorizedDomain", blank=True, related_name="app_tokens")
    path_prefixes: "models.JSONField[list[str], list[str]]" = models.JSONField(
        default=list, blank=True, validators=[validate_path_prefixes]
    )

    recorded = Recorded(
        Resource.APP_TOKENS,
        api_fields("user_id", "name", "prefix", "expires_at", "all_domains", "authorized_domains", "path_prefixes"),
    )

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="app_token_name_is_unique_per_user")]
