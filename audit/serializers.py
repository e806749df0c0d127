"""The JSON of the access log."""

from typing import Any

from rest_framework import serializers

from audit.models import AccessLog
from gatewall.api.serializers import ShapedField

_ROW = {"type": ["object", "null"], "properties": {"kind": {"type": "string"}, "id": {"type": ["integer", "null"]}}}
_OBJECT = {"type": ["object", "null"]}
_LIST = {"type": "array", "items": {}}


class AccessLogOutput(serializers.ModelSerializer[AccessLog]):
    """One answer of the gate."""

    decided_by = serializers.SerializerMethodField()
    subject = serializers.SerializerMethodField()
    rules = ShapedField(_LIST)
    credential = ShapedField(_OBJECT)
    visible = ShapedField(_LIST)

    class Meta:
        model = AccessLog
        fields = (
            *("decision_id", "at", "client_ip", "country_code", "method", "scheme", "host", "path", "query"),
            *("user_agent", "status", "outcome", "reason", "decided_by", "rules", "credential", "visible"),
            *("subject", "latency_us", "policy_revision", "node"),
        )

    def get_decided_by(self, row: AccessLog) -> dict[str, Any] | None:
        """Return the row of policy that decided, or None."""
        return {"kind": row.decided_by_kind, "id": row.decided_by_id} if row.decided_by_kind else None

    def get_subject(self, row: AccessLog) -> dict[str, Any] | None:
        """Return who it was, or None."""
        if row.subject_kind is None:
            return None
        return {"kind": row.subject_kind, "id": row.subject_id, "name": row.subject_name}


class AccessLogPage(serializers.Serializer[Any]):
    """A page of the log, newest first. ``count`` is null unless ``count=true``."""

    count = serializers.IntegerField(allow_null=True)
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True)
    results = AccessLogOutput(many=True)
