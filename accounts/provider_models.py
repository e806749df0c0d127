"""Models of identity providers, and of the accounts and sessions that users have there."""

from django.core.validators import RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from gatewall.engine.groups import ADMINS
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record
from policies.models import Group

SLUG_PATTERN = r"^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?\Z"
DEFAULT_SCOPES = ("openid", "profile", "email")


def default_scopes() -> list[str]:
    """Return the scopes of a new provider."""
    return [*DEFAULT_SCOPES]


class IdentityProvider(Record):
    """An OpenID Connect provider that users may sign in at.

    ``mapped_groups``: for each value of the groups claim, the ids of the groups that it gives, or ``admins``.
    """

    slug = models.CharField(max_length=32, unique=True, validators=[RegexValidator(SLUG_PATTERN)])
    name = models.CharField(max_length=64, help_text="Label of the button on the guard page.")
    issuer = models.CharField(max_length=500, help_text="Exactly as in the provider's discovery document.")
    client_id = models.CharField(max_length=255)
    sealed_client_secret = models.CharField(max_length=1000, blank=True, editable=False)
    scopes = models.JSONField(default=default_scopes)
    username_claim = models.CharField(max_length=64, default="preferred_username")
    groups_claim = models.CharField(max_length=64, default="groups", blank=True)
    mapped_groups = models.JSONField(default=dict, blank=True)
    group_map_gives_admin = models.BooleanField(default=False, help_text="Allow the group map to make administrators.")
    create_users = models.BooleanField(default=False, help_text="Create a user for everybody who signs in here.")
    link_verified_email = models.BooleanField(
        default=False, help_text="Link to the one user who has the e-mail address that the provider verified."
    )
    allowed_email_domains = models.JSONField(default=list, blank=True)
    trust_amr = models.BooleanField(
        default=False, help_text="Trust the provider's claim that a second factor was used."
    )
    domains = models.JSONField(default=list, blank=True, help_text="Which sites offer it; empty means all.")
    enabled = models.BooleanField(default=True)
    allow_private = models.BooleanField(default=False, help_text="Allow addresses that are not public.")

    recorded = Recorded(
        Resource.IDENTITY_PROVIDERS,
        api_fields(
            *("slug", "name", "issuer", "client_id", "scopes", "username_claim", "groups_claim", "group_map"),
            *("group_map_gives_admin", "create_users", "link_verified_email", "allowed_email_domains", "trust_amr"),
            *("domains", "enabled", "allow_private"),
        ),
    )

    class Meta:
        verbose_name = _("identity provider")
        verbose_name_plural = _("identity providers")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.slug

    @property
    def group_map(self) -> dict[str, list[str]]:
        """The group map with names instead of ids, without deleted groups."""
        ids = {id_ for given in self.mapped_groups.values() for id_ in given if id_ != ADMINS}
        names: dict[object, str] = {ADMINS: ADMINS}
        names.update(Group.objects.filter(pk__in=ids).values_list("pk", "name") if ids else ())
        return {
            value: [names[id_] for id_ in given if id_ in names] for value, given in sorted(self.mapped_groups.items())
        }

    @property
    def has_client_secret(self) -> bool:
        return bool(self.sealed_client_secret)


class ExternalIdentity(models.Model):
    """A user's account at a provider, by issuer and subject: the provider never reuses a subject."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="identities")
    user = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    shown_name = models.CharField(max_length=254, blank=True)
    linked_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("external identity")
        verbose_name_plural = _("external identities")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "issuer", "subject"], name="identity_is_linked_once"),
            models.UniqueConstraint(fields=["provider", "user"], name="user_has_one_identity_per_provider"),
        ]


class ClaimedGroup(models.Model):
    """A group that a claim gave a user at the last sign-in; ``group`` None: the rights of an administrator.

    ``is_added``: only the claim made the user a member, so they are removed from the group when the claim ends.
    """

    identity = models.ForeignKey(ExternalIdentity, on_delete=models.CASCADE, related_name="claimed_groups")
    group = models.ForeignKey("policies.Group", on_delete=models.CASCADE, null=True, related_name="claimed")
    claim = models.CharField(max_length=64)
    value = models.CharField(max_length=255)
    is_added = models.BooleanField()
    claimed_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]


class ProviderSession(models.Model):
    """A session that was opened through a provider, with its id there (``sid``). ``sealed_id_token`` is for sign-out.

    Until the user proves the second factor, it has a challenge instead of a session.
    """

    session = models.OneToOneField("accounts.Session", on_delete=models.CASCADE, null=True, related_name="at_provider")
    challenge = models.OneToOneField(
        "accounts.Challenge", on_delete=models.CASCADE, null=True, related_name="at_provider"
    )
    identity = models.ForeignKey(ExternalIdentity, on_delete=models.CASCADE, related_name="sessions")
    sid = models.CharField(max_length=255, blank=True)
    sealed_id_token = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["identity", "sid"], name="provider_session_by_sid")]


class ProviderSignIn(models.Model):
    """A started sign-in at a provider: bound to a browser, used once. With a user, it links an identity to them."""

    state_digest = models.CharField(max_length=64, primary_key=True)
    browser_digest = models.CharField(max_length=64)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="sign_ins")
    user = models.ForeignKey("accounts.User", on_delete=models.CASCADE, null=True, related_name="provider_sign_ins")
    redirect_uri = models.CharField(max_length=1000)
    return_url = models.CharField(max_length=4096, blank=True)
    begun_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    spent_at = models.DateTimeField(null=True)


class UsedLogoutToken(models.Model):
    """An accepted logout token, by the digest of its ``jti``, kept until the token expires."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="used_logout_tokens")
    digest = models.CharField(max_length=64)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "digest"], name="logout_token_is_used_once")]
