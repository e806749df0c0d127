"""Serializers of sign-in and second factors."""

import json
from typing import Any

from rest_framework import serializers

from accounts.sign_in.challenges import Challenged
from accounts.sign_in.login import SignedIn
from accounts.sign_in.methods import second_factors_of
from accounts.sign_in.passkey_values import MAX_LENGTH
from gatewall.api.fresh_sign_in import FreshInput
from gatewall.api.serializers import ShapedField, StrictInput, TextField


def password_field(**options: Any) -> TextField:
    """Return the field of a password: write-only, and spaces are kept."""
    return TextField(max_length=1024, trim_whitespace=False, write_only=True, **options)


class CredentialField(ShapedField):
    """The answer of an authenticator, as JSON of bounded length; the ceremony verifies it."""

    def __init__(self, **options: Any) -> None:
        super().__init__({"type": "object", "additionalProperties": True}, write_only=True, **options)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict) or len(json.dumps(data)) > MAX_LENGTH:
            self.fail("invalid")
        return data


class LoginInput(StrictInput):
    """Input of a sign-in."""

    username = TextField(max_length=256)
    password = password_field()


class SecondFactorInput(StrictInput):
    """Input of the second factor of a sign-in."""

    challenge_token = TextField(max_length=4096)
    code = TextField(max_length=64)


class PasskeyBeginInput(StrictInput):
    """Input to begin a sign-in with a passkey; with ``challenge_token`` the passkey answers that challenge."""

    challenge_token = TextField(max_length=4096, required=False)


class PasskeyFinishInput(PasskeyBeginInput):
    """The answer of a passkey: ``credential.toJSON()`` of the browser."""

    credential = CredentialField()


class RecoveryInput(StrictInput):
    """Input to remove the lost second factor of an admin."""

    username = TextField(max_length=256)
    password = password_field()
    recovery_key = TextField(max_length=1024, write_only=True)


class ConfirmInput(StrictInput):
    """The first code of an authenticator app."""

    code = TextField(max_length=64)


class ReauthenticationInput(FreshInput):
    """The caller's password or, with a second factor, a code, unless the sign-in is fresh."""


class TotpSetupInput(ReauthenticationInput):
    """The name of the app, required for a further app; the caller's password or code, unless the sign-in is fresh."""

    name = TextField(max_length=100, required=False)


class WhoOutput(serializers.Serializer[Any]):
    """Summary of a user."""

    id = serializers.IntegerField()
    username = serializers.CharField()
    is_admin = serializers.BooleanField()


class ChallengedOutput(serializers.Serializer[Any]):
    """Response to a first method that requires a second factor; ``methods`` can answer it."""

    two_factor_required = serializers.BooleanField()
    challenge_token = serializers.CharField()
    expires_at = serializers.DateTimeField()
    methods = serializers.ListField(child=serializers.CharField())


class PasskeyOptionsOutput(serializers.Serializer[Any]):
    """Options for ``PublicKeyCredential.parseCreationOptionsFromJSON`` or ``parseRequestOptionsFromJSON``."""

    public_key = ShapedField({"type": "object", "additionalProperties": True})


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
    """Return the response to a first method that requires a second factor, with the methods that can answer it."""
    sent = {"challenge_token": challenge.token, "expires_at": challenge.expires_at}
    names = [method.name for method in second_factors_of(challenge.user)]
    return ChallengedOutput({"two_factor_required": True, **sent, "methods": names}).data
