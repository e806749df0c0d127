"""The JSON of users and sign-in: what is accepted, and what is shown."""

from typing import Any

from rest_framework import serializers

from accounts.login import SignedIn
from accounts.models import User, plain_email
from gatewall.api.serializers import FlagField, StrictInput, TextField
from policies.serializers import RegisteredDomainField


class UserInput(StrictInput):
    """A user as sent."""

    username = TextField(max_length=64)
    password = TextField(max_length=1024, trim_whitespace=False, write_only=True)
    email = serializers.EmailField(allow_blank=True, required=False, validators=[plain_email])
    is_admin = FlagField(required=False)
    is_active = FlagField(required=False)
    all_domains = FlagField(required=False)
    authorized_domains = serializers.ListField(child=RegisteredDomainField(), max_length=1000, required=False)
    remark = TextField(max_length=500, allow_blank=True, required=False)


class UserOutput(serializers.ModelSerializer[User]):
    """A user as shown: nothing that opens anything."""

    authorized_domains = serializers.SlugRelatedField[Any](slug_field="name", many=True, read_only=True)
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
            "last_login_at",
            "session_count",
        )


class LoginInput(StrictInput):
    """A name and a password as sent."""

    username = TextField(max_length=256)
    password = TextField(max_length=1024, trim_whitespace=False)


class WhoOutput(serializers.Serializer[Any]):
    """Who somebody is, in short."""

    id = serializers.IntegerField()
    username = serializers.CharField()
    is_admin = serializers.BooleanField()


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


def who(user: User) -> dict[str, Any]:
    """Return who somebody is, in short."""
    return {"id": user.pk, "username": user.username, "is_admin": user.is_admin}


def moment(value: Any) -> str:
    """Return a moment as RFC 3339 in UTC."""
    text: str = serializers.DateTimeField().to_representation(value)
    return text
