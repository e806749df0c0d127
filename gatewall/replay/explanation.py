"""Decide a hypothetical request and explain every step. Pure.

The request goes through the gate's own parser, as a proxy would send it, and through the engine's own steps, so that an
explanation cannot differ from the answer. Nothing is counted or recorded.
"""

from dataclasses import dataclass, field, replace

from audit.spool.records import AccessRecord
from gatewall.credentials.check import app_token_subject, guest_subject, license_subject, session_subject
from gatewall.engine.access_rules.table import AccessOutcome
from gatewall.engine.access_rules.trace import TracedReading
from gatewall.engine.evaluate import CANNOT_DECIDE, StepResult, explain
from gatewall.engine.facts import Facts
from gatewall.engine.model import AccessRequest, Credential, CredentialKind, Subject, SubjectKind
from gatewall.engine.ports import CredentialCheck, Ports
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.gate import headers as wire
from gatewall.gate import subrequest
from gatewall.gate.record import record_of
from gatewall.gate.subrequest import Subrequest
from gatewall.kernel.clientip import TrustedProxies
from gatewall.replay.rule_places import RulePlaces
from gatewall.replay.scope_sources import ScopeSources, scope_sources


@dataclass(frozen=True, slots=True)
class AssumedSubject:
    """A user, app token, license or share link assumed to be signed in, without a token."""

    kind: SubjectKind
    id: int
    amr: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MadeUpRequest:
    """A hypothetical request, as latin-1 text. ``client`` is the whole ``X-Forwarded-For``; the repr omits secrets."""

    client: str
    host: str
    method: str
    uri: str = field(repr=False)
    scheme: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    assumed: AssumedSubject | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer as an access record, and the result of every step; no steps without a policy.

    ``domain``: registered domain of the host; ``fault``: what is malformed; ``places``: where WAF rules matched;
    ``scope``: why the subject may access the domain, if it is known. ``access``: the access that the request needs,
    None if it is malformed; ``readings``: the result of each access rule for each reading of the path.
    """

    record: AccessRecord
    retry_after_seconds: int | None
    steps: tuple[StepResult, ...]
    domain: str | None
    fault: str
    places: RulePlaces
    scope: ScopeSources | None
    access: AccessOutcome | None
    readings: tuple[TracedReading, ...]


def explain_request(
    made_up: MadeUpRequest, policy: PolicySnapshot | None, ports: Ports, trusted: TrustedProxies, at: float
) -> Explanation:
    """Return how the gate would answer this request; ``ports`` must count nothing and cache nothing."""
    request = subrequest.forward(as_subrequest(made_up, trusted), trusted, at)
    if made_up.assumed is not None and not request.fault:
        request, ports = _signed_in(request, ports, made_up.assumed)
    decision, steps = (CANNOT_DECIDE, ()) if policy is None else explain(request, policy, ports)
    record = record_of(request, decision, policy, decision_id="", status=decision.effect.status, answered_at=at)
    domain = policy.domains.match(request.host) if policy else None
    name = domain.name if domain else None
    places = RulePlaces(policy.waf.rules if policy else (), request, name)
    scope = scope_sources(decision.subject, policy, name)
    facts = Facts(request, policy, ports) if policy and not request.fault else None
    access, readings = (facts.access, facts.access_trace()) if facts else (None, ())
    seconds = decision.verdict.retry_after_seconds
    return Explanation(record, seconds, steps, name, request.fault, places, scope, access, readings)


def as_subrequest(made_up: MadeUpRequest, trusted: TrustedProxies) -> Subrequest:
    """Return the subrequest that a trusted proxy would send or, if none is trusted, the client itself."""
    headers = {
        "host": made_up.host,
        "x-forwarded-for": made_up.client,
        "x-forwarded-host": made_up.host,
        "x-forwarded-proto": made_up.scheme,
        "x-forwarded-method": made_up.method,
        "x-forwarded-uri": made_up.uri,
    }
    # The gate would read a line feed as the end of a header line: replace it by another control byte.
    lines = [(name, value.replace(wire.LINE, "\r")) for name, value in headers.items() if value is not None]
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (*lines, *made_up.headers)]
    peer = "" if trusted.networks else made_up.client  # a unix socket
    return Subrequest(peer, "http", wire.from_lines(raw))


def _signed_in(request: AccessRequest, ports: Ports, assumed: AssumedSubject) -> tuple[AccessRequest, Ports]:
    """Add a credential in its order of trial, and a credential check that accepts it for the assumed subject."""
    if assumed.kind is SubjectKind.USER:
        credential = Credential(CredentialKind.SESSION_HEADER, "")
        credentials = (credential, *request.credentials)
    else:
        credential = Credential(_KIND_OF[assumed.kind], "")
        credentials = (*request.credentials, credential)
    check = _AssumingCredentials(ports.credentials, credential, assumed)
    return replace(request, credentials=credentials), replace(ports, credentials=check)


_KIND_OF = {
    SubjectKind.APP_TOKEN: CredentialKind.APP_BEARER,
    SubjectKind.LICENSE: CredentialKind.LICENSE,
    SubjectKind.GUEST: CredentialKind.GUEST_COOKIE,
}


@dataclass(frozen=True, slots=True)
class _AssumingCredentials:
    """Credential port that maps one credential to the assumed subject."""

    inner: CredentialCheck
    credential: Credential
    assumed: AssumedSubject

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        """Return the subject; the assumed one only if it could sign in at this time."""
        if credential is not self.credential:
            return self.inner.subject_of(credential, policy, at)
        if self.assumed.kind is SubjectKind.USER:
            user = policy.users.get(self.assumed.id)
            return session_subject(user, policy, self.assumed.amr) if user is not None else None
        if self.assumed.kind is SubjectKind.APP_TOKEN:
            tokens = (state for state in policy.app_tokens.values() if state.id == self.assumed.id)
            return next((app_token_subject(state, policy, at) for state in tokens), None)
        if self.assumed.kind is SubjectKind.GUEST:
            links = (state for state in policy.share_links.values() if state.id == self.assumed.id)
            return next((guest_subject(state, at) for state in links), None)
        found = (state for state in policy.licenses.values() if state.id == self.assumed.id)
        return next((license_subject(state, at) for state in found), None)
