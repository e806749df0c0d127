"""API: the policy document, now or as of a revision, and its JSON Schema."""

from typing import Any

from django.db import transaction
from django.http import Http404
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from gatewall.api import etags
from gatewall.api.operations import operation
from gatewall.api.queries import refuse_unknown_parameters, whole_number_in
from gatewall.api.scopes import POLICY
from gatewall.api.serializers import ShapedField, StrictInput
from gatewall.api.views import ApiView
from gatewall.kernel.refusals import Gone
from gatewall.policy import revisions
from gatewall.whatif.as_of import with_rows_as_of
from gatewall.whatif.document_field import DocumentField
from policies.document.comparison import changes
from policies.document.document import Document
from policies.document.export import ALL, export
from policies.document.reading import read
from policies.document.schema import schema
from policies.document.writing import json_of

_MAX_REVISION = 10**18 - 1
_YAML = "yaml"
_REVISION = {"revision": {"type": "integer", "minimum": 1, "maximum": _MAX_REVISION}}


class YamlRenderer(BaseRenderer):
    """Render a text that is YAML (RFC 9512)."""

    media_type = "application/yaml"
    format = _YAML
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        """Return the bytes of the text."""
        return str(data or "").encode()


class DocumentJsonRenderer(JSONRenderer):
    """Render a document as JSON that can be applied unchanged."""

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        """Return the bytes of the object."""
        return json_of(data).encode()


class PolicyDocument(ApiView):
    """The policy document."""

    area = POLICY
    renderer_classes = [YamlRenderer, DocumentJsonRenderer]

    @operation(
        answer={"type": ["string", "object"]},  # text as YAML, an object as JSON
        media_type=YamlRenderer.media_type,
        exports=(JSONRenderer.media_type,),
        parameters=_REVISION,
        refuses={404, 406, 409},
        is_tagged=True,
    )
    def get(self, request: Request) -> Response:
        """Export the policy as one document: canonical YAML, or JSON by ``Accept``.

        With ``revision``, as it was after that revision.
        """
        refuse_unknown_parameters(request, _REVISION)
        number = whole_number_in(request, "revision", 1, _MAX_REVISION)
        document = _as_of(number) if number is not None else export()
        form, values = str(request.accepted_renderer.format), document.values()
        content: Any = document.canonical().decode() if form == _YAML else values
        return etags.conditional_response(request, content, etags.tag_of({"format": form, "document": values}))


def _as_of(number: int) -> Document:
    """Return the document as of a revision. Raises Http404, CannotRestore."""
    try:
        document, _unknown = with_rows_as_of(number, export)  # a document has no entries of imported lists
    except Gone:
        raise Http404 from None
    return document


class ComparedInput(StrictInput):
    """A policy document to compare."""

    document = DocumentField()


class DifferenceOutput(serializers.Serializer[Any]):
    """The change of one object by applying a document: its section and key, and the fields that differ."""

    section = serializers.ChoiceField(choices=sorted(ALL))
    key = serializers.CharField()
    action = serializers.ChoiceField(choices=["created", "changed", "deleted"])
    before = ShapedField({"type": "object"})
    after = ShapedField({"type": "object"})


class ComparedOutput(serializers.Serializer[Any]):
    """The changes that applying a document would make to the policy of this revision."""

    revision = serializers.IntegerField()
    changes = DifferenceOutput(many=True)


def compare(document: str) -> dict[str, Any]:
    """Compare a document with the policy in force. Raises DocumentRefused."""
    with transaction.atomic():
        number, found = revisions.current().revision, changes(read(document.encode()))
    return {
        "revision": number,
        "changes": [
            {
                "section": each.section,
                "key": each.name,
                "action": each.action.value,
                "before": dict(each.before),
                "after": dict(each.after),
            }
            for each in found
        ],
    }


class CompareDocument(ApiView):
    """Compare a document with the policy in force."""

    area = POLICY
    large_bodies = frozenset({"POST"})

    @operation(body=ComparedInput, answer=ComparedOutput, reads=True)
    def post(self, request: Request) -> Response:
        """Compare a policy document with the policy in force: what applying it would change, without a replay."""
        return Response(compare(self.body(ComparedInput)["document"]))


class PolicySchema(ApiView):
    """The JSON Schema of policy documents."""

    area = POLICY

    @operation(answer={"type": "object", "required": ["$schema"]}, is_tagged=True)
    def get(self, request: Request) -> Response:
        """Show the JSON Schema (2020-12) of policy documents, for editors and pipelines."""
        found = schema()
        return etags.conditional_response(request, found, etags.tag_of(found))
