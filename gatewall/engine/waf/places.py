"""Where in a request a rule matches, for explanations; not used for decisions. No I/O."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from gatewall.engine.model import AccessRequest
from gatewall.engine.waf import transforms
from gatewall.engine.waf.builtin.regions import regions_of
from gatewall.engine.waf.exclusions import Name, PartName
from gatewall.engine.waf.forms import Views
from gatewall.engine.waf.patterns import compile_find
from gatewall.engine.waf.percent import percent_decoded
from gatewall.engine.waf.reading import raw_uri, values_of
from gatewall.engine.waf.rules import Region, Target, WafRule
from gatewall.engine.waf.scope import Scope, name_of, part_of, target_of
from gatewall.engine.waf.values import Value

MAX_PLACES = 5
"""Limit per rule."""
_OF_URI = frozenset({Target.URI, Target.PATH, Target.QUERY, Target.ARGS, Target.ARG_NAMES})


class Form(StrEnum):
    """Form of the value that matched.

    ``rewritten``: without entities, escapes, comments or quotes, decoded from base64 or JSON, or changed by the rule's
    transforms.
    """

    AS_SENT = "as-sent"
    DECODED = "decoded"
    REWRITTEN = "rewritten"


@dataclass(frozen=True, slots=True)
class Place:
    """A match: target, name of the argument, header or cookie, the value, and the matched text in it (latin-1).

    ``part``: the part that an exclusion must name to except the value; None if no exclusion can.
    """

    target: Target
    name: str | None
    value: str
    text: str
    form: Form
    part: PartName | None = None


class Places:
    """Finds where rules match in one request to one registered domain, in the matchers' values."""

    def __init__(self, request: AccessRequest, domain: str | None) -> None:
        self._request = request
        self._scope = Scope(request, domain)
        self._views = Views(request)

    def of(self, rule: WafRule) -> tuple[Place, ...]:
        """Return the first places where the rule matches, one per part and form; empty if it does not apply."""
        if not self._scope.covers(rule):
            return ()
        find = compile_find(rule.pattern, rule.operator)
        found: dict[tuple[Target, Name | None], Place] = {}
        for region, label, value in self._values(rule):
            part = part_of(region, label)
            target = target_of(region, label)
            key = (target, label)
            if key in found or (span := find(value)) is None or self._scope.spares(rule, region, label):
                continue
            text = value[span[0] : span[1]].decode("latin-1")
            name = name_of(label)
            found[key] = Place(target, name, value.decode("latin-1"), text, self._form(target, text), part)
            if len(found) == MAX_PLACES:
                break
        return tuple(found.values())

    def _values(self, rule: WafRule) -> Iterator[tuple[Region, Name | None, bytes]]:
        if not rule.builtin:
            for target in rule.targets:
                for name, value in transforms.apply_to_all(rule.transforms, self._views.of(target)):
                    yield target, name, value
            return
        regions = regions_of(rule)
        for region, name, text in self._builtin_values:
            if region in regions:
                yield region, name, transforms.apply(rule.transforms, text.encode("latin-1"))

    @cached_property
    def _builtin_values(self) -> list[Value]:
        uri = raw_uri(self._request)
        values: list[Value] = [(Target.URI, None, uri)] if uri else []
        return values + values_of(self._request)

    def _form(self, target: Target, text: str) -> Form:
        sent = "\n".join(self._as_sent(target))
        if text in sent:
            return Form.AS_SENT
        decoded = (percent_decoded(each) for each in (sent, sent.replace("+", " ")))
        return Form.DECODED if any(text in each for each in decoded) else Form.REWRITTEN

    def _as_sent(self, target: Target) -> Iterable[str]:
        request = self._request
        if target in _OF_URI:
            return [request.uri]
        match target:
            case Target.BODY:
                return [(request.body or b"").decode("latin-1")]
            case Target.METHOD:
                return [request.method]
            case Target.HOST:
                return [request.host.name] if request.host else []
            case Target.COOKIES:
                return [f"{name}={value}" for name, value in request.cookies]
            case _:
                return [f"{name}: {value}" for name, value in request.headers]
