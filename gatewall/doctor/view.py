"""API view of the proxy doctor."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.scopes import SYSTEM
from gatewall.api.serializers import FlagField, ShapedField, StrictInput, TextField
from gatewall.api.views import ApiView
from gatewall.doctor.examination import examine
from gatewall.doctor.probing.findings import Verdict
from gatewall.doctor.probing.sending import Way
from gatewall.doctor.report import report
from gatewall.proxy_config.rendering import KINDS


class DoctorInput(StrictInput):
    """Input of an examination: the site and its proxy."""

    url = TextField(max_length=2000)
    proxy = serializers.ChoiceField(choices=list(KINDS), required=False, allow_null=True)
    self_signed = FlagField(required=False)
    upstream = TextField(max_length=255, required=False, allow_null=True)


_TEXT = {"type": "string"}
_NULLABLE = {"type": ["string", "null"]}
_VERDICT = {"enum": [verdict.value for verdict in Verdict]}


def _list_of(**properties: Any) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": list(properties)},
    }


_FIX = {
    "type": ["object", "null"],
    "properties": {"words": _TEXT, "snippets": _list_of(file=_TEXT, text=_TEXT), "documentation": _TEXT},
    "required": ["words", "snippets", "documentation"],
}
_FINDINGS = _list_of(code=_TEXT, verdict=_VERDICT, probe=_NULLABLE, sent=_NULLABLE, words=_TEXT)
_CHECKS = _list_of(id=_TEXT, title=_TEXT, verdict=_VERDICT, why=_TEXT, findings=_FINDINGS, fix=_FIX)
_HEADERS = _list_of(name=_TEXT, value=_TEXT)
_PROBES = _list_of(
    name=_TEXT,
    method=_TEXT,
    uri=_TEXT,
    at=_NULLABLE,
    headers=_HEADERS,
    answer={"type": "object"},
    recorded={"type": ["object", "null"]},
)


class DoctorOutput(serializers.Serializer[Any]):
    """Report of an examination."""

    url = serializers.CharField()
    proxy = serializers.CharField(allow_null=True)
    verdict = ShapedField(_VERDICT)
    untrusted_peers = serializers.ListField(child=serializers.CharField())
    checks = ShapedField(_CHECKS)
    probes = ShapedField(_PROBES)


class Doctor(ApiView):
    """Send requests to a protected site through its proxy, and report what reached the gate."""

    area = SYSTEM

    @operation(body=DoctorInput, answer=DoctorOutput, refuses={409})
    def post(self, request: Request) -> Response:
        """Examine a site; takes a few seconds, at most 45."""
        values = self.body(DoctorInput)
        evidence = examine(
            values["url"],
            kind=values.get("proxy"),
            way=Way(self_signed=values.get("self_signed", False)),
            upstream=values.get("upstream") or "",
        )
        return Response(report(evidence))
