"""Serializers of users and sign-in."""

from typing import Any

from rest_framework import serializers

from accounts.challenges import Challenged
from accounts.login import SignedIn
from accounts.models import Session, User, plain_email
from gatewall.api.serializers import FlagField, StrictInput, TextField
from policies.domain_fields import RegisteredDomainsField


def _password(**options: Any) -> TextField:
    return TextField(max_length=1024, trim_whitespace=False, write_only=True, **options)


class _EmailField(TextField, serializers.EmailField):
    """An e-mail address, and no more than that."""


class UserInput(StrictInput):
    """A user as sent."""

    username = TextField(max_length=64)
    password = _password()
    email = _EmailField(allow_blank=True, required=False, validators=[plain_email])
    is_admin = FlagField(required=False)
    is_active = FlagField(required=False)
    all_domains = FlagField(required=False)
    authorized_domains = RegisteredDomainsField(required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)


class UserOutput(serializers.ModelSerializer[User]):
    """A user as shown: nothing that opens anything."""

    authorized_domains = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)
    totp_enabled = serializers.BooleanField()
    code_entry_locked = serializers.BooleanField()
    session_count = serializers.IntegerField()

    class Meta:
        model = User
        fields = (
            "id",
            "created_at",
            "created_by",
            "username",
            "email",
            "is_admin",
            "is_active",
            "all_domains",
            "authorized_domains",
            "remark",
            "totp_enabled",
            "code_entry_locked",
            "last_login_at",
            "session_count",
        )


class SessionOutput(serializers.ModelSerializer[Session]):
    """A live session as shown. Its ``jti`` names the token and opens nothing."""

    current = serializers.SerializerMethodField()

    class Meta:
        model = Session
        fields = ("jti", "issued_at", "expires_at", "client_ip", "user_agent", "amr", "current")

    def get_current(self, session: Session) -> bool:
        """Return whether the caller's own token is the one of this session."""
        return bool(str(session.pk) == self.context["current_jti"])


class LoginInput(StrictInput):
    """A name and a password as sent."""

    username = TextField(max_length=256)
    password = _password()


class SecondFactorInput(StrictInput):
    """The answer to a challenge as sent."""

    challenge_token = TextField(max_length=4096)
    code = TextField(max_length=64)


class RecoveryInput(StrictInput):
    """What an admin sends who has lost the second factor."""

    username = TextField(max_length=256)
    password = _password()
    recovery_key = TextField(max_length=1024, write_only=True)


class ConfirmInput(StrictInput):
    """The first code of an authenticator app."""

    code = TextField(max_length=64)


class ReauthenticationInput(StrictInput):
    """The password again, where it is asked for."""

    password = _password(required=False)


class SwitchOffInput(ReauthenticationInput):
    """The password or a code, where one is asked for."""

    code = TextField(max_length=64, required=False)


class PasswordInput(StrictInput):
    """A new password and, from its owner, the old one. Git tokens stay unless they are to be revoked."""

    current_password = _password(required=False)
    new_password = _password()
    revoke_git_tokens = FlagField(default=False)


class WhoOutput(serializers.Serializer[Any]):
    """Who somebody is, in short."""

    id = serializers.IntegerField()
    username = serializers.CharField()
    is_admin = serializers.BooleanField()


class ChallengedOutput(serializers.Serializer[Any]):
    """The answer to a right password whose owner has a second factor."""

    two_factor_required = serializers.BooleanField()
    challenge_token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    methods = serializers.ListField(child=serializers.CharField())


class TotpSetupOutput(serializers.Serializer[Any]):
    """A secret that is no factor yet, for an authenticator app."""

    secret = serializers.CharField()
    otpauth_uri = serializers.CharField()
    qr_code = serializers.CharField()
    qr_svg = serializers.CharField()


class RecoveryCodesOutput(serializers.Serializer[Any]):
    """The recovery codes, shown once."""

    recovery_codes = serializers.ListField(child=serializers.CharField())


class SignedInOutput(serializers.Serializer[Any]):
    """The answer to a completed sign-in."""

    token = serializers.CharField()
    token_type = serializers.ChoiceField(choices=["Bearer"])
    expires_at = serializers.DateTimeField()
    two_factor_required = serializers.BooleanField()
    user = WhoOutput()


class OwnSessionOutput(serializers.Serializer[Any]):
    """The session that the caller's token stands for."""

    user = WhoOutput()
    expires_at = serializers.DateTimeField()
    amr = serializers.ListField(child=serializers.CharField())


def signed_in(result: SignedIn) -> dict[str, Any]:
    """Return the answer to a completed sign-in."""
    return {
        "token": result.token.text,
        "token_type": "Bearer",
        "expires_at": moment(result.token.expires_at),
        "two_factor_required": False,
        "user": who(result.user),
    }


def challenged(challenge: Challenged) -> dict[str, Any]:
    """Return the answer to a right password whose owner has a second factor."""
    return {
        "two_factor_required": True,
        "challenge_token": challenge.token,
        "expires_at": moment(challenge.expires_at),
        "methods": ["totp", "recovery-code"],
    }


def who(user: User) -> dict[str, Any]:
    """Return who somebody is, in short."""
    return {"id": user.pk, "username": user.username, "is_admin": user.is_admin}


def moment(value: Any) -> str:
    """Return a moment as RFC 3339 in UTC."""
    text: str = serializers.DateTimeField().to_representation(value)
    return text
