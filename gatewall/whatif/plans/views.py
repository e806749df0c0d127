"""API views of plans: make one, and follow its replay."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.resources import Resource
from gatewall.api.scopes import POLICY
from gatewall.whatif.backtest import runs
from gatewall.whatif.backtest.models import Backtest
from gatewall.whatif.plans import planning
from gatewall.whatif.plans.serializers import PlanInput, PlanOutput, PlanWithReplay


class Plans(Resource):
    """Plans: dry runs of proposed changes of policy."""

    nouns = ("a plan", "plans")
    area = POLICY
    large_bodies = frozenset({"POST"})
    input, output = PlanInput, PlanOutput
    ordering_fields = ("id", "created_at")
    http_method_names = ["get", "head", "options", "post", "delete"]
    volatile = ("state", "progress", "started_at", "finished_at", "failure", "replay", "applied_revision")

    def get_queryset(self) -> QuerySet[Backtest]:
        rows = Backtest.objects.exclude(digest="")
        return rows.defer("result", "draft") if self.action == "list" else rows.defer("draft")

    @operation(body=PlanInput, answer=PlanWithReplay, status=201, refuses={409}, reads=True)
    def create(self, request: Request, **path: Any) -> Response:
        """Make a plan, and queue its replay; the policy is not changed."""
        row = planning.plan(**self.body(PlanInput), actor=self.actor, caller=self.caller)
        headers = {"Location": self._location(row)}
        return Response(
            PlanWithReplay(row, context={"request": request}).data, status=status.HTTP_201_CREATED, headers=headers
        )

    @operation(answer=PlanWithReplay)
    def retrieve(self, request: Request, **path: Any) -> Response:
        """Return a plan with its expectations and, when it is finished, its replay."""
        return Response(PlanWithReplay(self.get_object(), context={"request": request}).data)

    @operation()
    def destroy(self, request: Request, **path: Any) -> Response:
        """Delete a plan; a queued or running replay is canceled."""
        with transaction.atomic():
            runs.delete(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
