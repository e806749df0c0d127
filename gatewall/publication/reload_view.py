"""API view that reloads the policy on every host."""

from typing import Any

from django.conf import settings
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api.operations import operation
from gatewall.api.scopes import SYSTEM
from gatewall.api.serializers import ShapedField
from gatewall.api.views import ApiView
from gatewall.models import Node
from gatewall.policy import revisions
from gatewall.publication.nodes import report_node
from gatewall.snapshot.host_paths import node_name, policy_files, run_folder


class NodeOutput(serializers.ModelSerializer[Node]):
    """A host, as its agent last reported it."""

    workers = ShapedField({"type": "array", "items": {"type": "object"}})

    class Meta:
        model = Node
        fields = ("name", "seen_at", "revision", "published_at", "workers", "problem")


class ReloadOutput(serializers.Serializer[Any]):
    """The revision that was read again, and the state of every host."""

    revision = serializers.IntegerField()
    published_at = serializers.DateTimeField(allow_null=True)
    nodes = NodeOutput(many=True)
    policy_pending = serializers.BooleanField(required=False)


class Reload(ApiView):
    """Have every worker of every host read rules, lists, settings and the geo database again."""

    area = SYSTEM

    @operation(answer=ReloadOutput)
    def post(self, request: Request) -> Response:
        revisions.demand_reload()
        head, run = revisions.head(), run_folder(settings.CONFIG.home)
        report_node(node_name(), policy_files(settings.CONFIG), run)  # do not wait for the agent's next report
        nodes = NodeOutput(Node.objects.all(), many=True).data
        here = next(node for node in nodes if node["name"] == node_name()[:100])
        body = {"revision": head.revision, "published_at": here["published_at"], "nodes": nodes}
        return Response({**body, "policy_pending": True} if revisions.publication_is_pending() else body)
