"""Serializers of access requests."""

from typing import Any

from rest_framework import serializers

from gatewall.api.serializers import StrictInput, TextField
from gatewall.whatif.access_requests import LIFETIMES
from policies.models import RequestForAccess, RequestState


class GrantAccessInput(StrictInput):
    """The grant to give, by the key of its ``offer``, and its lifetime; without ``offer`` the narrowest grant."""

    offer = TextField(max_length=64, required=False)
    lifetime = serializers.ChoiceField([each.value for each in LIFETIMES])


class RefuseAccessInput(StrictInput):
    """An answer for the user."""

    answer = TextField(max_length=500, allow_blank=True, required=False)


class AccessRequestOutput(serializers.ModelSerializer[RequestForAccess]):
    """An access request of a refused user."""

    user = serializers.CharField(source="user.username")
    domain = serializers.CharField(source="domain.name")
    state = serializers.ChoiceField([state.value for state in RequestState])
    grant = serializers.IntegerField(source="grant_id", allow_null=True)

    class Meta:
        model = RequestForAccess
        fields = (
            *("id", "user", "domain", "decision_id", "host", "path", "reason", "asked_at", "state", "decided_at"),
            *("decided_by", "answer", "grant"),
        )


class AccessOfferOutput(serializers.Serializer[Any]):
    """A grant that lets the refused request in, and what it would have opened in the last 30 days."""

    key = serializers.CharField()
    domain = serializers.CharField()
    path_prefix = serializers.CharField(allow_null=True)
    refused_requests = serializers.IntegerField()
    paths = serializers.IntegerField()


class NamedCountOutput(serializers.Serializer[Any]):
    """A name, and how often the log has it."""

    name = serializers.CharField()
    count = serializers.IntegerField()


class AccessHistoryOutput(serializers.Serializer[Any]):
    """The newest answers to the user in 30 days, at most 1,000: how many, with which reasons, and for which hosts."""

    answers = serializers.IntegerField()
    reasons = NamedCountOutput(many=True)
    hosts = NamedCountOutput(many=True)


class AccessRequestWithData(AccessRequestOutput):
    """An access request, the user's history and, while it is pending, the grants that can be given, narrowest first."""

    offers = AccessOfferOutput(many=True)
    history = AccessHistoryOutput()

    class Meta:
        model = RequestForAccess
        fields = (*AccessRequestOutput.Meta.fields, "offers", "history")
