"""Backtests and blast radius over HTTP."""

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
    """What changes of policy would have done to recorded requests."""

    input, output = BacktestInput, BacktestOutput
    ordering_fields = ("id", "created_at")
    http_method_names = ["get", "head", "options", "post", "delete"]
    volatile = ("state", "progress", "started_at", "finished_at", "failure", "result", "saved")

    def get_queryset(self) -> QuerySet[Backtest]:
        rows = runs.backtests()
        return rows.defer("result") if self.action == "list" else rows

    @operation(body=BacktestInput, answer=BacktestOutput, status=201, refuses={409})
    def create(self, request: Request, **path: Any) -> Response:
        """Ask for a backtest; nothing of the policy is changed by it."""
        form = BacktestInput(data=request.data)
        form.is_valid(raise_exception=True)
        run = runs.ask_for(**form.validated_data, actor=self.actor, caller=self.caller)
        headers = {"Location": self._location(run)}
        return Response(BacktestOutput(run).data, status=status.HTTP_201_CREATED, headers=headers)

    @operation(answer=BacktestWithResult)
    def retrieve(self, request: Request, **path: Any) -> Response:
        """Show how far a backtest is, and what came of it."""
        return Response(BacktestWithResult(self.get_object()).data)

    @operation()
    def destroy(self, request: Request, **path: Any) -> Response:
        """Delete a backtest; one that waits or is running is cancelled."""
        with transaction.atomic():
            runs.forget(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


class VisitorOutput(serializers.Serializer[Any]):
    """Somebody who was let in with a credential."""

    kind = serializers.CharField()
    id = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)
    count = serializers.IntegerField()
    last_at = serializers.DateTimeField()


class BlastRadiusOutput(serializers.Serializer[Any]):
    """Who was let in from there; ``complete`` is false where the log is looked at from ``since`` on only."""

    since = serializers.DateTimeField()
    complete = serializers.BooleanField(source="is_complete")
    users = serializers.IntegerField()
    machines = serializers.IntegerField()
    requests = serializers.IntegerField()
    results = VisitorOutput(many=True, source="visitors")


class BlastRadius(ApiView):
    """Who signed in lately from where somebody means to shut out."""

    @operation(answer=BlastRadiusOutput, parameters=_PARAMETERS)
    def get(self, request: Request) -> Response:
        """Show who was let in from an address, network or country in the last 30 days."""
        refuse_unknown_parameters(request, _PARAMETERS)
        named = [name for name in _PARAMETERS if name in request.query_params]
        if len(named) != 1:
            raise refused_parameter("network", "exactly one of network and country")
        find = blast_radius.of_network if named == ["network"] else blast_radius.of_country
        try:
            found = find(request.query_params[named[0]], timezone.now())
        except Refused as error:
            raise refused_parameter(named[0], error.message) from None
        return Response(BlastRadiusOutput(found).data)
