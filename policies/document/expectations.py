"""Expectations (requests in a policy document with the answer that they must get): serializers and storage."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from gatewall.api.serializers import StrictInput, TextField
from gatewall.engine.addresses import parse_address, text_of
from gatewall.engine.auth_methods import AUTH_METHODS, PASSWORD
from gatewall.engine.hosts import Authority
from gatewall.engine.model import Effect, Reason
from gatewall.kernel.changes import describe, difference
from gatewall.policy import revisions
from policies import rows
from policies.access_conditions import canonical_method
from policies.models import Expectation

MAX_EXPECTATIONS = 1_000
MAX_HEADERS = 50
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}", re.ASCII)  # RFC 9110 section 5.6.2
_HAS_OWN_FIELD = frozenset({"host", *(f"x-forwarded-{part}" for part in ("for", "host", "proto", "method", "uri"))})
_MAX_URI = 8192


class _AddressField(TextField):
    """An IP address; validates to its canonical text."""

    default_error_messages = {"address": _("an IP address is needed")}

    def to_internal_value(self, data: Any) -> str:
        address = parse_address(super().to_internal_value(data))
        if address is None:
            self.fail("address")
        return text_of(address)


class _HostField(TextField):
    """A host, optionally with a port."""

    default_error_messages = {"host": _("a host is needed, like app.example")}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if Authority.parse(text) is None:
            self.fail("host")
        return text.lower()


class _MethodField(TextField):
    """A method, in capital letters."""

    def to_internal_value(self, data: Any) -> str:
        return canonical_method(super().to_internal_value(data))


class _UriField(TextField):
    """The path and query of a request."""

    default_error_messages = {"uri": _("a URI begins with / and has no spaces or control characters")}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not text.startswith("/") or not text.isprintable() or " " in text:
            self.fail("uri")
        return text


class _HeadersField(serializers.DictField):
    """Headers of a request: lower-case names, each with one value."""

    default_error_messages = {
        "name": _("{name} is not the name of a header"),
        "told": _("send host, client, scheme, method and URI in their own fields, not as headers"),
        "too-many": _("at most {count} headers"),
    }

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if isinstance(data, Mapping) and len(data) > MAX_HEADERS:
            self.fail("too-many", count=MAX_HEADERS)
        found: dict[str, str] = super().to_internal_value(data)
        for name in found:
            if not _HEADER_NAME.fullmatch(name):
                self.fail("name", name=repr(name[:32]))
            if name.lower() in _HAS_OWN_FIELD:
                self.fail("told")
        return {name.lower(): value for name, value in sorted(found.items())}


class SubjectInput(StrictInput):
    """The subject of the request: a user, or a license, by name."""

    user = TextField(max_length=64, required=False)
    license = TextField(max_length=100, required=False)
    amr = serializers.ListField(
        child=serializers.ChoiceField(choices=AUTH_METHODS), max_length=len(AUTH_METHODS), required=False
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("user" in attrs) == ("license" in attrs):
            raise serializers.ValidationError(_("give a user or a license; omit it for an anonymous request"))
        if "license" in attrs and "amr" in attrs:
            raise serializers.ValidationError({"amr": [_("only the session of a user has this field")]})
        if "user" in attrs:
            attrs["amr"] = [each for each in AUTH_METHODS if each in attrs.get("amr", [PASSWORD])]
        return attrs


class RequestInput(StrictInput):
    """The request of an expectation; validates to values for all fields."""

    client = _AddressField(max_length=64)
    host = _HostField(max_length=255)
    method = _MethodField(max_length=32, default="GET")
    uri = _UriField(max_length=_MAX_URI, default="/")
    scheme = serializers.ChoiceField(choices=["https", "http"], default="https")
    headers = _HeadersField(child=TextField(max_length=8192, allow_blank=True), default=dict)

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), "as": SubjectInput(source="subject", allow_null=True, default=None)}

    def to_internal_value(self, data: Any) -> Any:
        values = super().to_internal_value(data)
        return {name: values[field.source] for name, field in self.fields.items()}


class ExpectationInput(StrictInput):
    """An expectation as written: a request, and the effect and reason of its decision."""

    name = TextField(max_length=100)
    request = RequestInput()
    effect = serializers.ChoiceField(choices=[each.value for each in Effect])
    reason = serializers.ChoiceField(choices=[each.value for each in Reason], required=False, allow_blank=True)


_OPTIONAL: Mapping[str, Any] = {"method": "GET", "uri": "/", "scheme": "https", "headers": {}, "as": None}
_PLAIN_SESSION = [PASSWORD]


def shown_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request as a document shows it, without the fields that have their default."""
    shown = {name: request[name] for name in ("client", "host", *_OPTIONAL) if name in request}
    shown = {name: value for name, value in shown.items() if name not in _OPTIONAL or value != _OPTIONAL[name]}
    if headers := shown.get("headers"):  # PostgreSQL does not keep the order of keys
        shown["headers"] = {name: headers[name] for name in sorted(headers)}
    if subject := shown.get("as"):
        named = {name: subject[name] for name in ("user", "license", "amr") if name in subject}
        shown["as"] = {name: each for name, each in named.items() if name != "amr" or each != _PLAIN_SESSION}
    return shown


@revisions.one_at_a_time
def write_expectations(
    *, actor: str, delete: Iterable[Expectation], save: Iterable[tuple[Expectation | None, Mapping[str, Any]]]
) -> None:
    """Delete, change and create expectations in one revision; ``save``: rows (None creates one) with their values.

    Raises ValidationError, Duplicate.
    """
    changes = []
    for gone in delete:
        changes.append(rows.deletion(gone))
        gone.delete()
    for row, values in save:
        expectation = row or Expectation(created_by=actor)
        before = describe(expectation) if row else None
        rows.write(expectation, **values)
        changes.append(difference(before, describe(expectation)))
    revisions.advance(actor=actor, changes=changes)
