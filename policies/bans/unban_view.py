"""API view that lifts many automatic bans at once."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.scopes import POLICY
from gatewall.api.serializers import FlagField, StrictInput, TextField
from gatewall.api.views import ApiView
from gatewall.engine.addresses import IPAddress, parse_address
from gatewall.policy import revisions
from policies.bans.banning import unban


class UnbanInput(StrictInput):
    """The addresses to unban, or all automatic bans."""

    addresses = serializers.ListField(child=TextField(max_length=64), max_length=1_000, required=False)
    all_automatic = FlagField(required=False)
    dry_run = FlagField(required=False)

    def validate_addresses(self, texts: list[str]) -> list[IPAddress]:
        addresses = [parse_address(text) for text in texts]
        if None in addresses:
            raise serializers.ValidationError(f"{texts[addresses.index(None)]!r} is not an IP address")
        return [address for address in addresses if address is not None]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs.get("addresses") and not attrs.get("all_automatic"):
            raise serializers.ValidationError({"addresses": ["name at least one, or send all_automatic: true"]})
        return attrs


class _Lifted(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    ip = serializers.CharField()


class _StillBlocked(serializers.Serializer[Any]):
    address = serializers.CharField()
    id = serializers.IntegerField()
    ip = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]  # DRF removes declared fields from the class


class UnbanOutput(serializers.Serializer[Any]):
    """The lifted bans, and the entries that still block one of the given addresses."""

    lifted = _Lifted(many=True)
    still_blocked = _StillBlocked(many=True)
    policy_pending = serializers.BooleanField(required=False)


class Unban(ApiView):
    """Remove automatic bans from the blocklist; manual and imported entries are kept."""

    area = POLICY

    @operation(body=UnbanInput, answer=UnbanOutput)
    def post(self, request: Request) -> Response:
        """Lift automatic bans."""
        values = {"addresses": [], **self.body(UnbanInput)}
        unbanned = unban(actor=str(request.user), at=timezone.now(), **values)
        body = {
            "lifted": [{"id": entry.pk, "ip": entry.network} for entry in unbanned.lifted],
            "still_blocked": [
                {"address": str(address), "id": entry.pk, "ip": entry.network, "source": entry.source}
                for address, entry in unbanned.still_blocked.items()
            ],
        }
        return Response({**body, "policy_pending": True} if revisions.publication_is_pending() else body)
