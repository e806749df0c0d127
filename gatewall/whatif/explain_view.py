"""API view that explains a hypothetical request: the decision and the trace of every step."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import selectors as accounts
from audit.serializers import GRANT
from gatewall.api.operations import operation
from gatewall.api.scopes import POLICY
from gatewall.api.serializers import ShapedField, StrictInput, TextField, WholeNumberField
from gatewall.api.translation import translated
from gatewall.api.views import ApiView
from gatewall.engine.auth_methods import AUTH_METHODS, PASSWORD
from gatewall.engine.model import SubjectKind
from gatewall.kernel.refusals import Gone
from gatewall.replay.explanation import AssumedSubject, MadeUpRequest
from gatewall.whatif.access_trace import ACCESS_NEEDED
from gatewall.whatif.as_of import AsOf, policy_as_of, revision_of
from gatewall.whatif.explain_request import explain
from gatewall.whatif.shapes import MATCHED_RULES, NUMBER, PLACED_RULES, SCOPE_SOURCES, TEXT, UNKNOWN_LISTS
from licensing import selectors as licensing
from policies import selectors as policies

MAX_URI = 8192
_MAX_VALUE = 8192  # nginx accepts header lines of 8 KiB, four of them
_MAX_HEADER_BYTES = 32_768
_MAX_HEADERS = 100
_MAX_NAME = 256
_AMR = f"one of {', '.join(AUTH_METHODS)}"
_MAX_ID = 2**63 - 1
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)  # RFC 9110 section 5.6.2
_CONTROLS = frozenset(map(chr, [*range(9), *range(10, 32), 127]))
_RESERVED_HEADERS = frozenset({"host", *(f"x-forwarded-{part}" for part in ("for", "host", "proto", "method", "uri"))})
_TOKEN_HEADERS = {
    "session": ("service-authorization", ""),
    "git-token": ("service-git-token", ""),
    "app-token": ("authorization", "Bearer "),
    "license": ("service-license", ""),
}
"""By kind of token, the header that carries it, and the prefix of its value."""
_ASSUMABLE = {
    "user": SubjectKind.USER,
    "app-token": SubjectKind.APP_TOKEN,
    "license": SubjectKind.LICENSE,
    "guest": SubjectKind.GUEST,
}

_NAMED_BY = {"user": {"id", "name"}, "app-token": {"id"}, "license": {"id", "name"}, "guest": {"id"}}
_ROWS: Mapping[str, Callable[..., QuerySet[Any]]] = {
    "user": accounts.users_named,
    "app-token": licensing.app_tokens_with,
    "license": licensing.licenses_named,
    "guest": policies.share_links_with,
}


class WireField(serializers.Field[str, Any, str, Any]):
    """A JSON string, as UTF-8 bytes in a latin-1 string; the gate decides whether it is well-formed."""

    shape = {"type": "string"}
    default_error_messages = {"invalid": _("a text is needed"), "too-long": _("at most {bytes} bytes")}

    def __init__(self, *, max_bytes: int = _MAX_VALUE, **options: Any) -> None:
        self._max_bytes = max_bytes
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        wire: str = data.encode("utf-8").decode("latin-1")
        if len(wire) > self._max_bytes:
            self.fail("too-long", bytes=self._max_bytes)
        return wire


class LineField(WireField):
    """A header value without control bytes."""

    default_error_messages = {"control": _("a header has no control bytes")}

    def to_internal_value(self, data: Any) -> str:
        wire = super().to_internal_value(data).strip(" \t")
        if not _CONTROLS.isdisjoint(wire):
            self.fail("control")
        return wire


class HeadersField(serializers.Field[Any, Any, Any, Any]):
    """Header names with a value, or a list of values for repeated headers."""

    shape = {
        "type": "object",
        "additionalProperties": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
    }
    default_error_messages = {
        "invalid": _("an object of header names and texts, or lists of texts, is needed"),
        "name": _("a header name has letters, digits and !#$%&'*+-.^_`|~, at most {length}"),
        "told": _("send host, client, scheme, method and URI in their own fields, not as headers"),
        "too-many": _("at most {count} header lines"),
        "too-long": _("at most {bytes} bytes of headers"),
    }

    def to_internal_value(self, data: Any) -> tuple[tuple[str, str], ...]:
        if not isinstance(data, dict):
            self.fail("invalid")
        lines = [(self._name(name), value) for name, values in data.items() for value in self._values(values)]
        if len(lines) > _MAX_HEADERS:
            self.fail("too-many", count=_MAX_HEADERS)
        if sum(len(name) + len(value) for name, value in lines) > _MAX_HEADER_BYTES:
            self.fail("too-long", bytes=_MAX_HEADER_BYTES)
        return tuple(lines)

    def _name(self, name: str) -> str:
        if len(name) > _MAX_NAME or not _NAME.fullmatch(name):
            self.fail("name", length=_MAX_NAME)
        if name.lower() in _RESERVED_HEADERS:
            self.fail("told")
        return name.lower()

    def _values(self, values: Any) -> list[str]:
        line = LineField()
        if isinstance(values, list):
            return [line.to_internal_value(value) for value in values[: _MAX_HEADERS + 1]]
        return [line.to_internal_value(values)]


class CredentialInput(StrictInput):
    """A token, or the user, app token, license or share link to assume."""

    kind = serializers.ChoiceField(
        choices=[*_TOKEN_HEADERS, "user", "guest"],
        error_messages={"invalid_choice": "session, git-token, app-token, license, user or guest"},
    )
    token = LineField(required=False)
    id = WholeNumberField(min_value=1, max_value=_MAX_ID, required=False)
    name = TextField(max_length=100, required=False)
    amr = serializers.ListField(
        child=serializers.ChoiceField(choices=AUTH_METHODS, error_messages={"invalid_choice": _AMR}),
        max_length=len(AUTH_METHODS),
        required=False,
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        kind = attrs["kind"]
        given = [name for name in ("token", "id", "name") if name in attrs]
        allowed = ({"token"} if kind in _TOKEN_HEADERS else set()) | _NAMED_BY.get(kind, set())
        if len(given) != 1 or given[0] not in allowed:
            fields = {"kind": kind, "fields": ", ".join(sorted(allowed))}
            raise serializers.ValidationError(_("identify a %(kind)s by exactly one of %(fields)s") % fields)
        if "amr" in attrs and kind != "user":
            raise serializers.ValidationError({"amr": _("only the session of a user has this field")})
        if given[0] != "token":
            attrs["assumed"] = AssumedSubject(
                _ASSUMABLE[kind], _existing_id(kind, given[0], attrs[given[0]]), tuple(attrs.get("amr", [PASSWORD]))
            )
        return attrs


def _existing_id(kind: str, by: str, value: Any) -> int:
    """Return the id of the user, app token, license or share link. Raises ValidationError if it does not exist."""
    row = _ROWS[kind](**{by: value}).first()
    if row is None:
        raise serializers.ValidationError({by: _("there is no such %(kind)s") % {"kind": kind}})
    return int(row.pk)


class ExplainInput(StrictInput):
    """A hypothetical request."""

    client_ip = WireField(max_bytes=4096)
    host = WireField()
    method = WireField()
    uri = WireField(max_bytes=MAX_URI)
    scheme = WireField(required=False)
    headers = HeadersField(required=False)
    credential = CredentialInput(required=False, allow_null=True)
    revision = WholeNumberField(min_value=1, max_value=_MAX_ID, required=False)

    def validate_revision(self, value: int) -> int:
        try:
            revision_of(value)
        except Gone as error:
            raise serializers.ValidationError(translated(error.message)) from None
        return value

    def as_of(self) -> AsOf | None:
        """Return the policy as of the requested revision, None for the current one. Raises CannotRestore."""
        number = self.validated_data.get("revision")
        return None if number is None else policy_as_of(number)

    def made_up(self) -> MadeUpRequest:
        values = self.validated_data
        credential = values.get("credential") or {}
        sent = []
        if "token" in credential:
            name, scheme = _TOKEN_HEADERS[credential["kind"]]
            sent = [(name, scheme + credential["token"])]
        return MadeUpRequest(
            client=values["client_ip"],
            host=values["host"],
            method=values["method"],
            uri=values["uri"],
            scheme=values.get("scheme"),
            headers=(*sent, *values.get("headers", ())),
            assumed=credential.get("assumed"),
        )


_CLAIM = dict.fromkeys(("group", "provider", "claim", "value"), TEXT)
_CLAIMED = {"type": "array", "items": {"type": "object", "properties": _CLAIM, "required": [*_CLAIM]}}
_ROW = {"type": ["object", "null"], "properties": {"kind": TEXT, "id": NUMBER}}
_DECISION_PARTS = {"status": NUMBER, "outcome": TEXT, "reason": TEXT, "decided_by": _ROW, "grant": GRANT}
_DECISION = {
    "type": "object",
    "properties": {**_DECISION_PARTS, "retry_after": {"type": "integer", "minimum": 1}},
    "required": [*_DECISION_PARTS],
}


class StepOutput(serializers.Serializer[Any]):
    """The result of a step: its outcome, ``not matched``, or null if it was not evaluated."""

    step = serializers.CharField()
    reached = serializers.BooleanField()
    decided = serializers.BooleanField()
    outcome = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    decided_by = ShapedField(_ROW, allow_null=True)
    rules = ShapedField(PLACED_RULES)


class ExplanationOutput(serializers.Serializer[Any]):
    """The decision, every step in order, and the facts about the request."""

    decision = ShapedField(_DECISION)
    trace = StepOutput(many=True)
    client_ip = serializers.CharField()
    subject = ShapedField(_ROW, allow_null=True)
    scope = ShapedField(SCOPE_SOURCES, allow_null=True)
    claimed_groups = ShapedField(_CLAIMED)
    access = ShapedField(ACCESS_NEEDED, allow_null=True)
    country_code = serializers.CharField(allow_null=True)
    domain = serializers.CharField(allow_null=True)
    rules = ShapedField(MATCHED_RULES)
    visible = serializers.ListField(child=serializers.CharField())
    fault = serializers.CharField(allow_null=True)
    policy_revision = serializers.IntegerField()
    at = serializers.CharField(allow_null=True)
    unknown = ShapedField(UNKNOWN_LISTS)


class Explain(ApiView):
    """The explanation of the gate's answer to a hypothetical request."""

    area = POLICY

    @operation(body=ExplainInput, answer=ExplanationOutput, refuses={409}, reads=True)
    def post(self, request: Request) -> Response:
        """Explain the answer to a hypothetical request, now or as of a revision."""
        form = ExplainInput(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(explain(form.made_up(), form.as_of()))
