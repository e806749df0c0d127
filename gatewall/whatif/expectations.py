"""Check the expectations (policy tests) under the policy of the current transaction, with the engine's own steps.

An expectation that cannot be decided has failed: its ``undecidable`` says why.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db import transaction

from accounts import selectors as accounts
from gatewall.engine.messages import Message
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import Reason, SubjectKind
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.waf.patterns import PatternRefused
from gatewall.gate.build import read_only_ports
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from gatewall.publication.compiler import compiled_segment, consistent_read, segment_bytes
from gatewall.publication.control_plane import sources_of
from gatewall.replay.explanation import AssumedSubject, MadeUpRequest, explain_request
from gatewall.snapshot.assembly import Assembly, SegmentData, SegmentRefused
from gatewall.snapshot.host_paths import policy_files
from licensing import selectors as licensing
from policies.history.rule_lockout import UnlimitedRate
from policies.models import Expectation

_SHOWN_IN_MESSAGE = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of an expectation: the answer that its request gets, or why it cannot be decided."""

    name: str
    wanted: Mapping[str, Any]
    got: Mapping[str, Any] | None
    undecidable: Message | None = None

    @property
    def passed(self) -> bool:
        """Whether the request gets the wanted effect, and the wanted reason if there is one."""
        if self.got is None or self.got["effect"] != self.wanted["effect"]:
            return False
        return not self.wanted["reason"] or self.got["reason"] == self.wanted["reason"]

    def as_json(self) -> dict[str, Any]:
        shown = {"name": self.name, "passed": self.passed, "wanted": self.wanted, "got": self.got}
        return {**shown, "undecidable": str(self.undecidable) if self.undecidable else None}


class ExpectationFailed(Conflict):
    """Expectations of the policy failed; ``failures`` has all of them."""

    code = "expectation-failed"

    def __init__(self, failures: list[Outcome]) -> None:
        self.failures = failures
        names = ", ".join(each.name for each in failures[:_SHOWN_IN_MESSAGE])
        more = ", …" if len(failures) > _SHOWN_IN_MESSAGE else ""
        super().__init__(_("failed expectations (%(number)s): %(names)s"), number=len(failures), names=names + more)

    def members(self) -> dict[str, Any]:
        return {"expectations": [each.as_json() for each in self.failures]}


def segments_now() -> Mapping[str, str]:
    """Return the change id of every segment in this transaction, to give to ``outcomes()`` after a change."""
    with consistent_read() as moment:
        return dict(moment.segments)


def require_expectations(before: Mapping[str, str]) -> list[Outcome]:
    """Return the outcome of every expectation after a change. Raises ExpectationFailed."""
    found = outcomes(before)
    if failures := [each for each in found if not each.passed]:
        raise ExpectationFailed(failures)
    return found


@transaction.atomic
def outcomes(before: Mapping[str, str]) -> list[Outcome]:
    """Return the outcome of every stored expectation under the policy of this transaction.

    ``before``: the segments before the changes of this transaction. Segments that it changed are compiled without the
    shared cache, because no other process may see them.
    """
    rows = list(Expectation.objects.all())
    if not rows:
        return []
    try:
        policy = _kept.policy(before)
    except (SegmentRefused, PatternRefused, ValueError) as error:
        why = Message(_("the policy cannot be compiled: %(why)s"), why=str(error))
        return [Outcome(row.name, _wanted(row), None, why) for row in rows]
    return [_outcome(row, policy) for row in rows]


class _LastTables:
    """Tables of the last policy, which the next one shares if their segments are equal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._home: object = None
        self._assembly = Assembly()

    def policy(self, before: Mapping[str, str]) -> PolicySnapshot:
        """Return the policy of this transaction. Raises SegmentRefused, PatternRefused, ValueError."""
        with self._lock:
            if self._home != settings.CONFIG.home:
                self._home, self._assembly = settings.CONFIG.home, Assembly(policy_files(settings.CONFIG).patterns)
            with consistent_read() as moment:
                segments = {
                    name: SegmentData.of(
                        segment_bytes(moment, name) if before.get(name) == change else compiled_segment(name)
                    )
                    for name, change in moment.segments.items()
                }
            return self._assembly.build(revisions.current(), segments)


_kept = _LastTables()


def _outcome(row: Expectation, policy: PolicySnapshot) -> Outcome:
    if row.reason == Reason.CLIENT_RATE_LIMITED:
        return Outcome(row.name, _wanted(row), None, Message(_("the answer depends on the requests before it")))
    subject = row.request["as"]
    assumed = _assumed(subject)
    if subject and assumed is None:
        name = subject.get("user") or subject.get("license")
        words = _("there is no user %(name)s") if "user" in subject else _("there is no license %(name)s")
        return Outcome(row.name, _wanted(row), None, Message(words, name=name))
    _policies, countries = sources_of(settings.CONFIG)
    ports = replace(read_only_ports(settings.CONFIG, countries), rates=UnlimitedRate())
    trusted = settings.CONFIG.trusted_proxies
    record = explain_request(_made_up(row.request, assumed), policy, ports, trusted, time.time()).record
    got = {"effect": record.outcome, "reason": record.reason, "decided_by": record.decided_by}
    return Outcome(row.name, _wanted(row), got)


def _wanted(row: Expectation) -> dict[str, Any]:
    return {"effect": row.effect, "reason": row.reason or None}


def _made_up(request: Mapping[str, Any], assumed: AssumedSubject | None) -> MadeUpRequest:
    return MadeUpRequest(
        client=request["client"],
        host=_wire(request["host"]),
        method=_wire(request["method"]),
        uri=_wire(request["uri"]),
        scheme=request["scheme"],
        headers=tuple((name, _wire(value)) for name, value in request["headers"].items()),
        assumed=assumed,
    )


def _wire(text: str) -> str:
    """Return a text as the latin-1 text of its UTF-8 bytes."""
    return text.encode("utf-8").decode("latin-1")


def _assumed(subject: Mapping[str, Any] | None) -> AssumedSubject | None:
    """Return the user or license that is assumed to be signed in; None without one, or if it does not exist."""
    if not subject:
        return None
    if "user" in subject:
        user = accounts.users_named(name=subject["user"]).first()
        return AssumedSubject(SubjectKind.USER, user.pk, tuple(subject["amr"])) if user else None
    found = licensing.licenses_named(name=subject["license"]).first()
    return AssumedSubject(SubjectKind.LICENSE, found.pk) if found else None
