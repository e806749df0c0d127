"""API view of the dashboard's figures."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from audit.serializers import BarOutput, ClientCount, OutcomesOutput, ReasonCount
from gatewall.api.operations import operation
from gatewall.api.queries import refuse_unknown_parameters
from gatewall.api.scopes import LOGS
from gatewall.api.views import ApiView
from gatewall.health import dashboard
from gatewall.publication.reload_view import NodeOutput


class _Requests(OutcomesOutput):
    rate_per_second = serializers.FloatField()


class _Latency(serializers.Serializer[Any]):
    p50 = serializers.IntegerField(allow_null=True)
    p95 = serializers.IntegerField(allow_null=True)
    p99 = serializers.IntegerField(allow_null=True)


class _Counts(serializers.Serializer[Any]):
    users = serializers.IntegerField()
    admins = serializers.IntegerField()
    blacklist = serializers.IntegerField()
    whitelist = serializers.IntegerField()
    waf_rules = serializers.IntegerField()
    domains = serializers.IntegerField()
    licenses = serializers.IntegerField()
    active_sessions = serializers.IntegerField()


class _Policy(serializers.Serializer[Any]):
    revision = serializers.IntegerField()
    published_at = serializers.DateTimeField(allow_null=True)
    nodes = NodeOutput(many=True)


class _Log(serializers.Serializer[Any]):
    lag_seconds = serializers.FloatField(allow_null=True)
    spooled = serializers.IntegerField(help_text="bytes")
    dropped = serializers.IntegerField(help_text="records")


class _Geo(serializers.Serializer[Any]):
    database = serializers.CharField(allow_null=True)
    built_at = serializers.DateTimeField(allow_null=True)


class DashboardOutput(serializers.Serializer[Any]):
    """Figures of the dashboard: the control plane, the last 24 hours of requests, and the number of rows."""

    started_at = serializers.DateTimeField()
    uptime_seconds = serializers.IntegerField()
    requests = _Requests()
    block_rate = serializers.FloatField()
    timeline = BarOutput(many=True)
    top_blocked_clients = ClientCount(many=True)
    block_reasons = ReasonCount(many=True)
    latency_us = _Latency()
    counts = _Counts()
    policy = _Policy()
    log = _Log()
    geo = _Geo()


class DashboardStats(ApiView):
    """State of the installation."""

    area = LOGS

    @operation(answer=DashboardOutput)
    def get(self, request: Request) -> Response:
        """Show the figures of the dashboard."""
        refuse_unknown_parameters(request, ())
        return Response(DashboardOutput(dashboard.figures(timezone.now())).data)
