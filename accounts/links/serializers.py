"""Serializers of one-time links."""

from typing import Any

from rest_framework import serializers

from accounts.sign_in.serializers import ReauthenticationInput
from gatewall.api.serializers import FlagField, StrictInput, TextField


class ResetLinkInput(ReauthenticationInput):
    """Whether the link is returned though mail could be sent; password or code, unless the sign-in is fresh."""

    hand_over = FlagField(default=False)


class InvitationInput(ResetLinkInput):
    """As for a reset link; and whether the user may choose another name."""

    choose_username = FlagField(default=True)


class OfferOutput(serializers.Serializer[Any]):
    """Where the link was sent, or the link, shown once."""

    sent_to = serializers.CharField(allow_null=True)
    link = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)


class AskResetInput(StrictInput):
    """A user name or an e-mail address."""

    account = TextField(max_length=254)


class AskedOutput(serializers.Serializer[Any]):
    """The same for every account."""

    message = serializers.CharField()
