"""Serializers of users."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from accounts.filters import address, name_filter
from accounts.links.serializers import OfferOutput
from accounts.models import Session, User, plain_email
from accounts.sign_in.serializers import password_field
from gatewall.api.filters import Filters, ListFilters, at_or_after, before, flag, text
from gatewall.api.serializers import FlagField, StrictInput, TextField
from policies.groups.serializers import GroupsField
from policies.serializers import RegisteredDomainsField, ScopeInput
from policies.validators import canonical_domain


class _EmailField(TextField, serializers.EmailField):
    """Field of an e-mail address without control characters."""


class UserInput(StrictInput):
    """Input of a user. To create one, or set a password or rights, callers re-authenticate unless freshly signed in."""

    username = TextField(max_length=64)
    password = password_field(required=False)
    invite = FlagField(required=False, write_only=True)
    email = _EmailField(allow_blank=True, required=False, validators=[plain_email])
    is_admin = FlagField(required=False)
    is_auditor = FlagField(required=False)
    is_active = FlagField(required=False)
    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)
    groups = GroupsField(required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)
    current_password = password_field(required=False)
    code = TextField(max_length=64, write_only=True, required=False)

    def get_fields(self) -> dict[str, Any]:
        """Require a password unless the user is invited."""
        fields, sent = super().get_fields(), getattr(self, "initial_data", None)
        fields["password"].required = isinstance(sent, Mapping) and not sent.get("invite")
        return fields

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a password together with an invitation, and an invitation in a change."""
        attrs = dict(super().validate(attrs))
        if self.partial:
            if attrs.pop("invite", False):
                raise serializers.ValidationError({"invite": "POST /users/:id/invitation invites a user"})
        elif attrs.get("invite") and "password" in attrs:
            raise serializers.ValidationError({"invite": "send a password, or invite: true to let the user set one"})
        return attrs


class UserScopeInput(ScopeInput):
    """A user's domains, groups and active flag, as sent."""

    groups = GroupsField(required=False)
    is_active = FlagField(required=False)


class UserOutput(serializers.ModelSerializer[User]):
    """A user, without secrets."""

    authorized_domains = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)
    groups = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)
    totp_enabled = serializers.BooleanField()
    code_entry_locked = serializers.BooleanField()
    session_count = serializers.IntegerField()

    class Meta:
        model = User
        fields = (
            "id", "created_at", "created_by", "username", "email", "is_admin", "is_auditor", "is_active",
            "all_domains", "authorized_domains", "groups", "remark", "totp_enabled", "code_entry_locked",
            "last_login_at", "session_count",
        )  # fmt: skip


class InvitedOutput(serializers.Serializer[Any]):
    """The invitation of a new user, for its creator."""

    invitation = OfferOutput(required=False)


class SessionOutput(serializers.ModelSerializer[Session]):
    """A live session. Its ``jti`` identifies the token but grants no access."""

    current = serializers.SerializerMethodField()

    class Meta:
        model = Session
        fields = ("jti", "issued_at", "expires_at", "client_ip", "user_agent", "amr", "current")

    def get_current(self, session: Session) -> bool:
        """Return whether this is the session of the caller's token."""
        return bool(str(session.pk) == self.context["current_jti"])


class PasswordInput(StrictInput):
    """A new password and the caller's current one. Tokens are kept by default.

    For another account, the caller's password is required unless their sign-in is fresh. Callers with a second factor
    send a code too, unless they have just signed in with it.
    """

    current_password = password_field(required=False)
    code = TextField(max_length=64, write_only=True, required=False)
    new_password = password_field()
    revoke_git_tokens = FlagField(default=False)
    revoke_app_tokens = FlagField(default=False)
    revoke_api_tokens = FlagField(default=False)


class UserFilters(ListFilters):
    """Filters of the list of users."""

    username = name_filter()
    email = text("email", max_length=254, lookup="iexact")
    is_admin, is_auditor, is_active = flag("is_admin"), flag("is_auditor"), flag("is_active")
    all_domains, totp_enabled = flag("all_domains"), flag("totp_enabled")
    authorized_domain = text("authorized_domains__name", max_length=255, parse=canonical_domain)
    group = text("groups__name", max_length=64)
    last_login_at_after, last_login_at_before = at_or_after("last_login_at"), before("last_login_at")


class SessionFilters(Filters):
    """Filters of a user's sessions."""

    client_ip = text("client_ip", max_length=64, parse=address)
    issued_at_after, issued_at_before = at_or_after("issued_at"), before("issued_at")
    expires_at_after, expires_at_before = at_or_after("expires_at"), before("expires_at")
