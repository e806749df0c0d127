"""Models of users, sessions and second factors."""

from datetime import datetime

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from accounts.passkey_models import Passkey, UsedPasskeyChallenge
from accounts.provider_models import (
    ClaimedGroup,
    ExternalIdentity,
    IdentityProvider,
    ProviderSession,
    ProviderSignIn,
    UsedLogoutToken,
)
from accounts.remembered_models import RememberedDevice
from gatewall.kernel.changes import Recorded, Resource, api_fields
from gatewall.models import Record

__all__ = [
    "USERNAME_PATTERN",
    "ApiToken",
    "Challenge",
    "ClaimedGroup",
    "ExternalIdentity",
    "FailureCount",
    "IdentityProvider",
    "Passkey",
    "ProviderSession",
    "ProviderSignIn",
    "RecoveryCode",
    "RememberedDevice",
    "Session",
    "TotpDevice",
    "UsedLogoutToken",
    "UsedPasskeyChallenge",
    "User",
    "Users",
    "WrongCodes",
    "plain_email",
]
USERNAME_PATTERN = r"^[A-Za-z0-9._@+-]{3,64}\Z"
plain_username = RegexValidator(
    USERNAME_PATTERN, _("a user name has 3 to 64 characters, each a letter from A to Z, a digit or one of . _ @ + -")
)
# Django also accepts quoted local parts, which may contain control characters (RFC 5321 section 4.1.2).
plain_email = RegexValidator(r'^[^"\x00-\x20\x7f]*\Z', "an e-mail address without quotes and control characters")


class Users(BaseUserManager["User"]):
    """Look up users by name, ignoring case."""

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(username__iexact=username)


class User(AbstractBaseUser, Record):
    """A user. Every session token contains ``session_version``: incrementing it ends all sessions."""

    username = models.CharField(max_length=64, validators=[plain_username])
    email = models.EmailField(blank=True, validators=[plain_email])
    is_admin = models.BooleanField(default=False)
    is_auditor = models.BooleanField(default=False, db_default=False)
    is_active = models.BooleanField(default=True)
    all_domains = models.BooleanField(default=True)
    authorized_domains = models.ManyToManyField("policies.AuthorizedDomain", blank=True, related_name="users")
    groups = models.ManyToManyField("policies.Group", blank=True, related_name="users")
    remark = models.CharField(max_length=500, blank=True)
    session_version = models.PositiveIntegerField(default=1, editable=False)
    last_login_at = models.DateTimeField(null=True, blank=True, editable=False)

    recorded = Recorded(
        Resource.USERS,
        api_fields(
            *(
                "username",
                "email",
                "is_admin",
                "is_auditor",
                "is_active",
                "all_domains",
                "authorized_domains",
                "groups",
                "remark",
            ),
        ),
    )
    last_login = None  # Django's column; ours is last_login_at

    USERNAME_FIELD = "username"
    objects = Users()

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(Lower("username"), name="username_is_unique_ignoring_case")]
        indexes = [
            models.Index(fields=["username", "id"], name="users_in_order_of_name"),
            models.Index(fields=["created_at", "id"], name="users_in_order_of_creation"),
        ]

    def __str__(self) -> str:
        return self.username

    @property
    def is_staff(self) -> bool:
        """Admins, and only they, may change things in the Django admin."""
        return self.is_admin and self.is_active

    @property
    def may_audit(self) -> bool:
        """Admins and auditors may read everything but secrets."""
        return self.is_active and (self.is_admin or self.is_auditor)

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Bind the Django admin's session to the session version, so that ended sessions stay ended."""
        value = f"{self.session_version}:{self.password}"
        return salted_hmac("accounts.models.User.session", value, secret=secret, algorithm="sha256").hexdigest()

    def has_perm(self, perm: str, obj: object = None) -> bool:
        """Return whether the user has a permission of the Django admin: auditors have those to view."""
        return self.is_staff or (self.may_audit and perm.partition(".")[2].startswith("view_"))

    def has_module_perms(self, app_label: str) -> bool:
        return self.may_audit


class Session(models.Model):
    """A session of a user, by the ``jti`` of its token. A session of the Django admin has a row, but no token."""

    jti = models.UUIDField(primary_key=True, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sessions")
    session_version = models.PositiveIntegerField()
    issued_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    client_ip = models.GenericIPAddressField()
    user_agent = models.CharField(max_length=256, blank=True)
    amr = models.JSONField(default=list)

    class Meta:
        ordering = ["-issued_at", "jti"]
        constraints = [
            models.CheckConstraint(condition=models.Q(expires_at__gt=models.F("issued_at")), name="session_has_a_life"),
        ]

    def is_live(self, at: datetime) -> bool:
        return self.revoked_at is None and at < self.expires_at and self.session_version == self.user.session_version


class HandOff(models.Model):
    """One-time code that hands a session to the guard page of another parent domain, by digests of code and browser."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="hand_offs")
    guard = models.CharField(max_length=300)
    digest = models.CharField(max_length=64, unique=True)
    browser = models.CharField(max_length=64)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "guard"], name="hand_off_is_unique_per_session_and_guard"),
        ]


class ApiToken(Record):
    """A token for the management API; the row contains only its digest. ``user`` is the admin who created it.

    ``networks``: networks that it may be used from, in canonical form; empty: all.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens", editable=False)
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField()
    networks = models.JSONField(default=list, blank=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, editable=False)

    recorded = Recorded(
        Resource.API_TOKENS, api_fields("user_id", "name", "prefix", "scopes", "networks", "expires_at")
    )

    class Meta:
        verbose_name = _("API token")
        verbose_name_plural = _("API tokens")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="api_token_name_is_unique_per_user")]

    def __str__(self) -> str:
        return self.name


class TotpDevice(models.Model):
    """Authenticator app of a user; a confirmed one enables the second factor. At most one waits to be confirmed.

    ``last_step`` is the time step of the last accepted code, to prevent replay.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="totp_devices", editable=False)
    name = models.CharField(max_length=100, blank=True, default="", db_default="")
    sealed_secret = models.CharField(max_length=255, editable=False)
    created_at = models.DateTimeField(editable=False)
    confirmed_at = models.DateTimeField(null=True, editable=False)
    last_step = models.BigIntegerField(default=0, editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = _("authenticator app")
        verbose_name_plural = _("authenticator apps")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name or "Authenticator app"


class RecoveryCode(models.Model):
    """Digest of a one-time recovery code. A used code has no row."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="recovery_code_is_unique_per_user")]


class Challenge(models.Model):
    """Sign-in that waits for the second factor, by the ``jti`` of its token; ``amr``: the methods proved so far."""

    jti = models.UUIDField(primary_key=True, editable=False)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="challenges")
    flow = models.CharField(max_length=16)
    amr = models.JSONField(null=True)  # null: created by the previous release, after the password
    session_version = models.PositiveIntegerField()
    expires_at = models.DateTimeField(db_index=True)
    tries = models.PositiveSmallIntegerField(default=0)
    spent_at = models.DateTimeField(null=True)


class WrongCodes(models.Model):
    """Number of consecutive wrong second-factor codes of an account; no row means none."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="wrong_codes")
    number = models.PositiveIntegerField(default=0)
    blocked_until = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("wrong codes")
        verbose_name_plural = _("wrong codes")


class FailureCount(models.Model):
    """Sign-in failures per key: an account, a network, or both. The key is a digest."""

    scope = models.CharField(max_length=16)
    key = models.CharField(max_length=64)
    failures = models.PositiveIntegerField(default=0)
    began_at = models.DateTimeField()
    blocked_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scope", "key"], name="failures_are_counted_once_per_key")]
        indexes = [models.Index(fields=["began_at"], name="failures_by_age")]


class LinkPurpose(models.TextChoices):
    """Purpose of a one-time link."""

    INVITATION = "invitation", "invitation"
    PASSWORD_RESET = "password-reset", "password reset"


class AccountLink(models.Model):
    """One-time link to set a password; the row contains only the digest of its token. A used link has no row.

    A user has at most one of each purpose. It ends with the user's sessions (``session_version``).
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="links")
    purpose = models.CharField(max_length=16, choices=LinkPurpose)
    digest = models.CharField(max_length=64, unique=True)
    session_version = models.PositiveIntegerField()
    may_rename = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=100, blank=True)
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "purpose"], name="account_link_is_one_per_purpose")]
