"""API view of who can enter a path of a host."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.queries import refuse_unknown_parameters, refused_parameter
from gatewall.api.scopes import POLICY
from gatewall.api.views import ApiView
from gatewall.replay.entrants import Entry
from gatewall.whatif.explain_view import MAX_URI, WireField
from gatewall.whatif.who_can_enter import NotReadable, who_can_enter

PARAMETERS = {
    "host": {"type": "string", "maxLength": 255},
    "path": {"type": "string", "maxLength": MAX_URI, "default": "/"},
    "method": {"type": "string", "maxLength": 32, "default": "GET"},
}


class Asked(serializers.Serializer[Any]):
    """Query parameters: host, path and method."""

    host = WireField(max_bytes=255)
    path = WireField(max_bytes=MAX_URI, default="/")
    method = WireField(max_bytes=32, default="GET")


class EntryOutput(serializers.Serializer[Any]):
    """Answer to one kind of visitor who has proved every factor, and the access level that is required."""

    id = serializers.IntegerField(allow_null=True)
    name = serializers.CharField()
    outcome = serializers.CharField(source="effect.value")
    reason = serializers.CharField(source="reason.value")
    access = serializers.CharField(source="access.value")
    rule = serializers.SerializerMethodField()
    decided_by = serializers.SerializerMethodField()

    def get_rule(self, entry: Entry) -> dict[str, Any] | None:
        """Return the access rule that requires the access level, null if the domain does."""
        return {"id": entry.rule.id, "name": entry.rule.name} if entry.rule else None

    def get_decided_by(self, entry: Entry) -> dict[str, Any] | None:
        """Return the row that decided, or null."""
        return {"kind": entry.decided_by.kind, "id": entry.decided_by.id} if entry.decided_by else None


class EntrantsOutput(serializers.Serializer[Any]):
    """Who can enter a path."""

    domain = serializers.CharField(allow_null=True)
    everybody = EntryOutput()
    people = EntryOutput(many=True)
    left_out = serializers.IntegerField()
    groups = EntryOutput(many=True)
    networks = EntryOutput(many=True)


class WhoCanEnter(ApiView):
    """Who can enter a path of a host: people, groups and networks."""

    area = POLICY

    @operation(answer=EntrantsOutput, parameters=PARAMETERS)
    def get(self, request: Request) -> Response:
        """List who can enter a path, the access level that is required, and by which rule; or why they are refused."""
        refuse_unknown_parameters(request, PARAMETERS)
        form = Asked(data=request.query_params.dict())
        form.is_valid(raise_exception=True)
        try:
            return Response(EntrantsOutput(who_can_enter(**form.validated_data)).data)
        except NotReadable as error:
            raise refused_parameter("host", error.message) from None
