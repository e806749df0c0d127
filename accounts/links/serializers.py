"""Serializers of one-time links."""

from typing import Any

from rest_framework import serializers

from accounts.sign_in.serializers import ReauthenticationInput
from gatewall.api.serializers import FlagField, StrictInput, TextField


class ResetLinkInput(ReauthenticationInput):
    """Input of a link: ``hand_over`` returns it instead of mailing it; password or code unless the sign-in is fresh."""

    hand_over = FlagField(default=False)


class InvitationInput(ResetLinkInput):
    """Input of an invitation: as for a reset link, and whether the user may choose another name."""

    choose_username = FlagField(default=True)


class OfferOutput(serializers.Serializer[Any]):
    """The address that the link was sent to, or the link itself, shown once."""

    sent_to = serializers.CharField(allow_null=True)
    link = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)


class AskResetInput(StrictInput):
    """Input of a request for a reset link: a user name or an e-mail address."""

    account = TextField(max_length=254)


class AskedOutput(serializers.Serializer[Any]):
    """Response to a request for a reset link, the same for every account."""

    message = serializers.CharField()
