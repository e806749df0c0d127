"""Replay a recorded request under another policy. Pure; counts nothing.

The request is rebuilt from its record and goes through the engine's own ``STEPS``. What a record lacks (credentials,
most headers, bodies, masked parts, request rates) is never guessed: a step that needs it makes the request
undecidable, with the reason. Only the recorded result of an unchanged policy may stand in for it; the decision then
lists it as ``Assumed``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from audit.spool.records import AccessRecord
from gatewall.credentials.check import (
    app_token_subject,
    git_token_subject,
    guest_subject,
    license_subject,
    session_subject,
)
from gatewall.engine.addresses import IPAddress, parse_address
from gatewall.engine.hosts import Authority, Host
from gatewall.engine.model import (
    AccessRequest,
    Credential,
    CredentialKind,
    Reason,
    Subject,
    SubjectKind,
    Verdict,
)
from gatewall.engine.ports import CountryLookup, Ports
from gatewall.engine.rule_match import RuleMatch
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.engine.steps import STEPS
from gatewall.kernel.changes import Resource
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.missing import Missing, NotRecorded
from gatewall.replay.recorded_waf import RecordedFacts, has_looked_up, is_whole
from gatewall.replay.settled_rules import SettledRules

CREDENTIAL_KINDS = frozenset(CredentialKind)
CHECKED = frozenset({"valid", "not-valid"})
"""States of a recorded credential that was checked."""
_OF_CLIENT = frozenset({"headers", "body"})
"""Parts of a request that are visible without the proxy's own headers."""


class Assumed(StrEnum):
    """A result that a decision takes from the record instead of computing it."""

    CREDENTIAL = "credential"
    REQUEST_RATE = "request-rate"
    WAF_RULES = "waf-rules"


@dataclass(frozen=True, slots=True)
class Redecided:
    """The decision, or None and what is missing for it."""

    verdict: Verdict | None
    missing: Missing | None
    assumed: frozenset[Assumed]


@dataclass(frozen=True, slots=True)
class RedecidedStep:
    """Result of one step, or what is ``missing`` for it. No step after a deciding or undecidable one is reached."""

    step: str
    verdict: Verdict | None
    missing: Missing | None
    reached: bool
    decided: bool
    rules: tuple[RuleMatch, ...]


class Redecider:
    """Decides recorded requests again under one policy, at one moment."""

    def __init__(self, policy: PolicySnapshot, *, countries: CountryLookup, history: ChangeHistory, at: float) -> None:
        """``history``: what has changed in this policy since a request was recorded."""
        self._policy = policy
        self._countries = countries
        self._history = history
        self._at = at
        self._rules = SettledRules(policy, history)
        self._git_tokens = {state.id: state for state in policy.git_tokens.values()}
        self._app_tokens = {state.id: state for state in policy.app_tokens.values()}
        self._licenses = {state.id: state for state in policy.licenses.values()}
        self._share_links = {state.id: state for state in policy.share_links.values()}

    def replay(self, record: AccessRecord) -> "Replay":
        """Return the replay of a recorded request, rebuilt from its record."""
        return self.replay_request(record, recorded_request(record, self._at))

    def replay_request(self, record: AccessRecord, request: AccessRequest | None) -> "Replay":
        """Return the replay of a request that ``recorded_request`` rebuilt."""
        assumed: set[Assumed] = set()
        if request is None:
            return Replay(None, assumed)
        ports = Ports(
            countries=self._countries,
            credentials=_RecordedCredentials(record, self.subject_of, assumed),
            rates=_RecordedRate(record, self._history, assumed),
        )
        facts = RecordedFacts(
            request,
            self._policy,
            ports,
            record,
            self._rules,
            lambda: assumed.add(Assumed.WAF_RULES),
        )
        return Replay(facts, assumed)

    def subject_of(self, record: AccessRecord) -> Subject | None:
        """Return the recorded subject as of now, None if it could not sign in any more."""
        known, policy = record.subject or {}, self._policy
        amr = tuple((record.credential or {}).get("amr", ()))
        match known.get("kind"):
            case SubjectKind.USER:
                user = policy.users.get(known["id"])
                return session_subject(user, policy, amr) if user is not None else None
            case SubjectKind.GIT_TOKEN:
                token = self._git_tokens.get(known["id"])
                return git_token_subject(token, policy, self._at) if token is not None else None
            case SubjectKind.APP_TOKEN:
                app = self._app_tokens.get(known["id"])
                return app_token_subject(app, policy, self._at) if app is not None else None
            case SubjectKind.LICENSE:
                state = self._licenses.get(known["id"])
                return license_subject(state, self._at) if state is not None else None
            case SubjectKind.GUEST:
                link = self._share_links.get(known["id"])
                return guest_subject(link, self._at) if link is not None else None
        return None


Result = tuple[Verdict | None, Missing | None]
"""Result of a step for a recorded request: its verdict, or the missing fact; both None if the step does not apply."""


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded request under one policy; facts and the results of steps are computed once.

    ``facts`` is None if the record does not contain the request; ``assumed`` grows as steps are evaluated.
    """

    facts: RecordedFacts | None
    assumed: set[Assumed]
    _results: list[Result] = field(default_factory=list)

    def decision(self) -> Redecided:
        """Return the first verdict of a step, or the fact that a step before it lacks."""
        if self.facts is not None:
            for verdict, missing in self.results():
                if verdict is not None or missing is not None:
                    return Redecided(verdict, missing, frozenset(self.assumed))
        return Redecided(None, Missing.REQUEST, frozenset(self.assumed))

    def results(self) -> Iterator[Result]:
        """Yield the result of every step, in order, as if it were reached."""
        known, facts = self._results, self.facts
        for number in range(len(STEPS)):
            if number == len(known):
                known.append((None, Missing.REQUEST) if facts is None else _evaluate(number, facts))
            yield known[number]

    def steps(self) -> Iterator[RedecidedStep]:
        """Yield every step with its result, in order."""
        facts, reached = self.facts, True
        is_malformed = facts is not None and bool(facts.request.fault)
        results = self.results()
        for step in STEPS:
            verdict, missing = next(results) if reached or not is_malformed else (None, None)
            rules = facts.rule_matches if facts and not is_malformed and "rule_matches" in step.facts else ()
            decided = reached and verdict is not None
            yield RedecidedStep(step.name, verdict, missing, reached and facts is not None, decided, rules)
            reached = reached and verdict is None and missing is None


_FUNCTIONS = tuple((step.function, "rule_matches" in step.facts) for step in STEPS)


def _evaluate(number: int, facts: RecordedFacts) -> Result:
    """Return the step's verdict, or the missing fact; also missing if rules that possibly match could decide it."""
    function, looks_at_rules = _FUNCTIONS[number]
    try:
        verdict = function(facts)
    except NotRecorded as error:
        return None, error.missing
    if verdict is None and looks_at_rules and facts.at_worst is not facts and function(facts.at_worst) is not None:
        return None, Missing.WAF_RULES
    return verdict, None


def recorded_request(record: AccessRecord, at: float) -> AccessRequest | None:
    """Return the request as far as it was recorded, None if it was not: the gate failed, or the host was masked."""
    client = parse_address(record.client_ip)
    if client is None or record.reason == Reason.CANNOT_DECIDE:
        return None
    if record.credential is not None and record.credential["kind"] not in CREDENTIAL_KINDS:
        return None
    if record.reason == Reason.REQUEST_MALFORMED:
        return AccessRequest(at=at, client=client, fault="it was malformed when it came")
    if not is_whole(record.host or "", 0):
        return None
    uri = f"{record.path}?{record.query}" if record.query else record.path  # a trailing ? is not recorded
    agent, sent = record.user_agent, record.credential
    return AccessRequest(
        at=at,
        client=client,
        authority=Authority(Host(record.host)) if record.host else None,
        scheme=record.scheme,
        method=record.method,
        uri=_bytes_of(uri),
        headers=(("user-agent", _bytes_of(agent)),) if agent else (),
        credentials=(Credential(CredentialKind(sent["kind"]), ""),) if sent else (),
        allowlist_applies=allowlist_applies(record),
        visible=frozenset(record.visible),
    )


def allowlist_applies(record: AccessRecord) -> bool:
    """As in gate/subrequest.py: with a host but no client address, the allowlist does not apply."""
    return "for" in record.visible or _OF_CLIENT.issuperset(record.visible)


def _bytes_of(text: str) -> str:
    return text.encode("latin-1", "replace").decode("latin-1")


@dataclass(frozen=True, slots=True)
class _RecordedCredentials:
    """Credential port: the recorded subject, if it could still sign in."""

    record: AccessRecord
    find: Callable[[AccessRecord], Subject | None]
    assumed: set[Assumed]

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        """Return the subject. Raises NotRecorded if the credential was not checked then."""
        if (self.record.credential or {}).get("state") not in CHECKED:
            raise NotRecorded(Missing.CREDENTIAL)
        self.assumed.add(Assumed.CREDENTIAL)
        return self.find(self.record)


@dataclass(frozen=True, slots=True)
class _RecordedRate:
    """Request-rate port: the recorded result, while the setting, or every access rule, is unchanged."""

    record: AccessRecord
    history: ChangeHistory
    assumed: set[Assumed]

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        """Return 1 if the client was over this limit, else 0. Raises NotRecorded."""
        if not has_looked_up(self.record, "over_rate") or not self._is_as_of(rule_id):
            raise NotRecorded(Missing.REQUEST_RATE)
        is_over = False
        if self.record.reason == Reason.CLIENT_RATE_LIMITED:
            limited_by = (self.record.decided_by or {}).get("id")  # None: the setting, which is counted first
            if rule_id is not None and limited_by != rule_id:
                raise NotRecorded(Missing.REQUEST_RATE)
            is_over = limited_by == rule_id
        self.assumed.add(Assumed.REQUEST_RATE)
        return int(is_over)

    def _is_as_of(self, rule_id: int | None) -> bool:
        """True if the limit is unchanged: the setting; for a rule, access rules, domains and, with a subject, users."""
        revision, subject = self.record.policy_revision, self.record.subject or {}
        if rule_id is None:
            return self.history.setting_is_as_of(revision, "request_rate_per_minute")
        if subject and not self.history.resource_is_as_of(revision, Resource.USERS):
            return False
        return all(self.history.resource_is_as_of(revision, each) for each in (Resource.ACCESS_RULES, Resource.DOMAINS))


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A decision step: whether it was reached, and whether it decided."""

    step: str
    reached: bool
    decided: bool


def trace_of(record: AccessRecord, *, inspected: bool, about_subjects: bool = False) -> tuple[TraceStep, ...]:
    """Return every step in order; none is reached if the gate could not decide.

    Two steps can allow an allowlisted client: the later one if its entry has ``inspect`` or rules matched. Two can
    deny access: the later one if the access rule is about subjects.
    """
    places = [number for number, step in enumerate(STEPS) if record.reason in step.reasons] or [-1]
    is_later = bool(inspected or record.rules) if record.reason == Reason.CLIENT_ALLOWED else about_subjects
    last = places[-1 if is_later else 0]
    return tuple(TraceStep(step.name, number <= last, number == last) for number, step in enumerate(STEPS))
