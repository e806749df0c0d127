"""API view of the requests that the WAF would have refused at a domain."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.queries import refuse_unknown_parameters, whole_number_in
from gatewall.api.scopes import LOGS
from gatewall.api.serializers import ShapedField
from gatewall.api.views import ApiView
from gatewall.whatif.offers import Offer
from gatewall.whatif.shapes import NUMBER, TEXT, object_of
from gatewall.whatif.waf_monitoring import MAX_DAYS, USUAL_DAYS, Found, Report, report_of
from policies.exclusions import TEXTS, written
from policies.models import AuthorizedDomain

PARAMETERS = {"days": {"type": "integer", "minimum": 1, "maximum": MAX_DAYS, "default": USUAL_DAYS}}
_EXCLUSION = {"type": "object", "properties": dict.fromkeys(TEXTS, TEXT)}
_OFFER = object_of({"rule": NUMBER, "exclusions": {"type": "array", "items": _EXCLUSION}})
_OFFER["type"] = ["object", "null"]
_TEXTS = {"type": "array", "items": TEXT}


class FoundOutput(serializers.Serializer[Any]):
    """Requests that would have been refused; the newest are the examples."""

    count = serializers.IntegerField()
    clients = serializers.IntegerField()
    paths = ShapedField(_TEXTS)
    decision_ids = ShapedField(_TEXTS)


class RuleFoundOutput(FoundOutput):
    """Requests that a rule would have refused, with an exclusion that would have let in the newest, null if none."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    offer = ShapedField(_OFFER, allow_null=True)


class HostFoundOutput(FoundOutput):
    """Requests to a host that would have been refused."""

    host = serializers.CharField()


class WafReportOutput(serializers.Serializer[Any]):
    """Requests that the WAF would have refused at a domain, by rule and host."""

    domain = serializers.CharField()
    waf_monitor_until = serializers.DateTimeField(allow_null=True)
    start_time = serializers.DateTimeField()
    end_time = serializers.DateTimeField()
    total = serializers.IntegerField()
    clients = serializers.IntegerField()
    complete = serializers.BooleanField()
    rules = RuleFoundOutput(many=True)
    hosts = HostFoundOutput(many=True)


class WafReport(ApiView):
    """Requests that the WAF would have refused at a domain without its monitor mode."""

    area = LOGS

    @operation(answer=WafReportOutput, parameters=PARAMETERS, refuses={404})
    def get(self, request: Request, pk: int) -> Response:
        """Report the requests that the WAF would have refused at a domain in the last days, with exclusions."""
        refuse_unknown_parameters(request, PARAMETERS)
        days = whole_number_in(request, "days", 1, MAX_DAYS) or USUAL_DAYS
        domain = get_object_or_404(AuthorizedDomain, pk=pk)
        report = report_of(domain, timezone.now(), days)
        return Response(WafReportOutput(_as_json(domain, report)).data)


def _as_json(domain: AuthorizedDomain, report: Report) -> dict[str, Any]:
    return {
        "domain": domain.name,
        "waf_monitor_until": domain.waf_monitor_until,
        "start_time": report.start,
        "end_time": report.end,
        "total": report.total,
        "clients": report.clients,
        "complete": report.is_complete,
        "rules": [
            {**_found(each.found), "id": each.id, "name": each.name, "offer": each.offer and _offer(each.offer)}
            for each in report.rules
        ],
        "hosts": [{**_found(found), "host": host} for host, found in report.hosts],
    }


def _found(found: Found) -> dict[str, Any]:
    return {
        "count": found.count,
        "clients": len(found.clients),
        "paths": found.top_paths,
        "decision_ids": [str(row.decision_id) for row in found.examples],
    }


def _offer(offer: Offer) -> dict[str, Any]:
    return {"rule": offer.row, "exclusions": [written(each) for each in offer.exclusions]}
