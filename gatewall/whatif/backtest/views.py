"""API views of backtests and of the blast radius."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.queries import refuse_unknown_parameters, refused_parameter
from gatewall.api.resources import Resource
from gatewall.api.scopes import LOGS, POLICY
from gatewall.api.views import ApiView
from gatewall.engine.messages import Refused
from gatewall.whatif.backtest import blast_radius, runs
from gatewall.whatif.backtest.models import Backtest
from gatewall.whatif.backtest.serializers import BacktestInput, BacktestOutput, BacktestWithResult

_PARAMETERS = {
    "network": {"type": "string", "minLength": 1, "maxLength": 64},
    "country": {"type": "string", "pattern": "^[A-Za-z]{2}$"},
}


class Backtests(Resource):
    """Replays of recorded requests under a proposed change of policy."""

    nouns = ("a backtest", "backtests")
    area = POLICY
    input, output = BacktestInput, BacktestOutput
    ordering_fields = ("id", "created_at")
    http_method_names = ["get", "head", "options", "post", "delete"]
    volatile = ("state", "progress", "started_at", "finished_at", "failure", "result", "saved")

    def get_queryset(self) -> QuerySet[Backtest]:
        rows = Backtest.objects.filter(digest="")
        return rows.defer("result") if self.action == "list" else rows

    @operation(body=BacktestInput, answer=BacktestOutput, status=201, refuses={409}, reads=True)
    def create(self, request: Request, **path: Any) -> Response:
        """Queue a backtest; the policy is not changed."""
        run = runs.queue(**self.body(BacktestInput), actor=self.actor, caller=self.caller)
        headers = {"Location": self._location(run)}
        return Response(BacktestOutput(run).data, status=status.HTTP_201_CREATED, headers=headers)

    @operation(answer=BacktestWithResult)
    def retrieve(self, request: Request, **path: Any) -> Response:
        """Return the progress and the result of a backtest."""
        return Response(BacktestWithResult(self.get_object(), context={"request": request}).data)

    @operation()
    def destroy(self, request: Request, **path: Any) -> Response:
        """Delete a backtest; a queued or running one is canceled."""
        with transaction.atomic():
            runs.delete(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


class VisitorOutput(serializers.Serializer[Any]):
    """A subject that was let in with a credential."""

    kind = serializers.CharField()
    id = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)
    count = serializers.IntegerField()
    last_at = serializers.DateTimeField()


class BlastRadiusOutput(serializers.Serializer[Any]):
    """Subjects that were let in; ``complete`` is false if the search reaches back only to ``since``."""

    since = serializers.DateTimeField()
    complete = serializers.BooleanField(source="is_complete")
    users = serializers.IntegerField()
    machines = serializers.IntegerField()
    requests = serializers.IntegerField()
    results = VisitorOutput(many=True, source="visitors")


class BlastRadius(ApiView):
    """Subjects that were let in from an address, network or country that may be blocked, by the access log."""

    area = LOGS

    @operation(answer=BlastRadiusOutput, parameters=_PARAMETERS)
    def get(self, request: Request) -> Response:
        """Return who was let in from an address, network or country in the last 30 days."""
        refuse_unknown_parameters(request, _PARAMETERS)
        given = [name for name in _PARAMETERS if name in request.query_params]
        if len(given) != 1:
            raise refused_parameter("network", "exactly one of network and country")
        find = blast_radius.of_network if given == ["network"] else blast_radius.of_country
        try:
            radius = find(request.query_params[given[0]], timezone.now())
        except Refused as error:
            raise refused_parameter(given[0], error.message) from None
        return Response(BlastRadiusOutput(radius).data)
