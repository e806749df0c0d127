"""Serializers of users and sign-in."""

from typing import Any

from rest_framework import serializers

from accounts.challenges import Challenged
from accounts.login import SignedIn
from accounts.models import Session, User, plain_email
from gatewall.api.serializers import FlagField, StrictInput, TextField
from policies.groups.serializers import GroupsField
from policies.serializers import RegisteredDomainsField, ScopeInput


def _password(**options: Any) -> TextField:
    return TextField(max_length=1024, trim_whitespace=False, write_only=True, **options)


class _EmailField(TextField, serializers.EmailField):
    """An e-mail address, and no more than that."""


class UserInput(StrictInput):
    """Input of a user. Who gives a password or rights proves who they are, unless their sign-in is fresh."""

    username = TextField(max_length=64)
    password = _password()
    email = _EmailField(allow_blank=True, required=False, validators=[plain_email])
    is_admin = FlagField(required=False)
    is_auditor = FlagField(required=False)
    is_active = FlagField(required=False)
    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)
    groups = GroupsField(required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)
    current_password = _password(required=False)
    code = TextField(max_length=64, write_only=True, required=False)


class UserScopeInput(ScopeInput):
    """What decides about a user, as sent: domains, groups, and whether they can sign in."""

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


class SessionOutput(serializers.ModelSerializer[Session]):
    """A live session. Its ``jti`` identifies the token but grants no access."""

    current = serializers.SerializerMethodField()

    class Meta:
        model = Session
        fields = ("jti", "issued_at", "expires_at", "client_ip", "user_agent", "amr", "current")

    def get_current(self, session: Session) -> bool:
        """Return whether this is the session of the caller's token."""
        return bool(str(session.pk) == self.context["current_jti"])


class LoginInput(StrictInput):
    """Input of a sign-in."""

    username = TextField(max_length=256)
    password = _password()


class SecondFactorInput(StrictInput):
    """Input of the second factor of a sign-in."""

    challenge_token = TextField(max_length=4096)
    code = TextField(max_length=64)


class RecoveryInput(StrictInput):
    """Input to remove the lost second factor of an admin."""

    username = TextField(max_length=256)
    password = _password()
    recovery_key = TextField(max_length=1024, write_only=True)


class ConfirmInput(StrictInput):
    """The first code of an authenticator app."""

    code = TextField(max_length=64)


class ReauthenticationInput(StrictInput):
    """The user's password, unless the sign-in is fresh."""

    password = _password(required=False)


class SwitchOffInput(ReauthenticationInput):
    """The user's password or a code, unless the sign-in is fresh."""

    code = TextField(max_length=64, required=False)


class PasswordInput(StrictInput):
    """A new password and the caller's current one. Tokens are kept by default.

    For another account, the caller's password is required unless their sign-in is fresh.
    """

    current_password = _password(required=False)
    new_password = _password()
    revoke_git_tokens = FlagField(default=False)
    revoke_api_tokens = FlagField(default=False)


class WhoOutput(serializers.Serializer[Any]):
    """Summary of a user."""

    id = serializers.IntegerField()
    username = serializers.CharField()
    is_admin = serializers.BooleanField()


class ChallengedOutput(serializers.Serializer[Any]):
    """Response to a correct password that requires a second factor."""

    two_factor_required = serializers.BooleanField()
    challenge_token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    methods = serializers.ListField(child=serializers.CharField())


class TotpSetupOutput(serializers.Serializer[Any]):
    """A secret for an authenticator app, not yet confirmed."""

    secret = serializers.CharField()
    otpauth_uri = serializers.CharField()
    qr_code = serializers.CharField()
    qr_svg = serializers.CharField()


class RecoveryCodesOutput(serializers.Serializer[Any]):
    """The recovery codes, returned once."""

    recovery_codes = serializers.ListField(child=serializers.CharField())


class SignedInOutput(serializers.Serializer[Any]):
    """Response to a completed sign-in."""

    token = serializers.CharField()
    token_type = serializers.ChoiceField(choices=["Bearer"])
    expires_at = serializers.DateTimeField()
    two_factor_required = serializers.BooleanField()
    user = WhoOutput()


class OwnSessionOutput(serializers.Serializer[Any]):
    """The session of the caller's token."""

    user = WhoOutput()
    expires_at = serializers.DateTimeField()
    amr = serializers.ListField(child=serializers.CharField())


def signed_in(result: SignedIn) -> dict[str, Any]:
    """Return the response to a completed sign-in."""
    token = {"token": result.token.text, "token_type": "Bearer", "expires_at": result.token.expires_at}
    return SignedInOutput({**token, "two_factor_required": False, "user": result.user}).data


def challenged(challenge: Challenged) -> dict[str, Any]:
    """Return the response to a correct password that requires a second factor."""
    sent = {"challenge_token": challenge.token, "expires_at": challenge.expires_at}
    return ChallengedOutput({"two_factor_required": True, **sent, "methods": ["totp", "recovery-code"]}).data
