"""Build the access record of an answer. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import orjson

from audit.spool.masking import MASK, are_plain, masked_text
from audit.spool.records import HOST, PATH, QUERY, USER_AGENT, AccessRecord, EncodedRecord, Field
from gatewall.engine.addresses import text_of
from gatewall.engine.hosts import Authority, Host
from gatewall.engine.model import AccessRequest, Action, DecidedBy, Decision, Effect, Reason, Subject
from gatewall.engine.rule_match import RuleMatch
from gatewall.engine.shared import Shared
from gatewall.engine.snapshot import PolicySnapshot, QueryStrings

_ALLOW = Effect.ALLOW
_CHECKED = frozenset({Reason.CREDENTIAL_INVALID, Reason.WAF_RULE})
_DROPPED_LENGTH = 2048
"""Characters beyond a field's length that are masked with it, and then dropped."""
_MAX_NAME, _SHOWN_NAME = 256, 100
"""Characters of a name that are masked, and that are kept."""
_BEGIN, _TARGET, _LATENCY = b'{"decision_id":"","at":0.0', b',"path":"","query":"",', b'"latency_us":0,'
"""Markers of the varying values in a record's bytes; no text contains them, because its quotes are escaped."""
_OTHER_SITES = frozenset({"cross-site", "same-site"})


def record_of(
    request: AccessRequest,
    decision: Decision,
    policy: PolicySnapshot | None,
    *,
    decision_id: str,
    status: int,
    answered_at: float,
) -> AccessRecord:
    """Build the access record of a decision under this policy, answered with this status."""
    path, _, query = request.uri.partition("?")
    verdict, host = decision.verdict, request.host
    score = waf_score(decision.rules) if decision.rules else None
    return AccessRecord(
        decision_id=decision_id,
        at=request.at,
        client_ip=text_of(request.client),
        country_code=decision.country_code,
        method=request.method,
        scheme=request.scheme,
        host=HOST.mask(host.name) if host else None,
        path=masked(PATH, path),
        query=_query(query, policy),
        user_agent=masked(USER_AGENT, request.header("user-agent")),
        status=status,
        outcome=str(verdict.effect),
        reason=str(verdict.reason),
        decided_by=row_of(verdict.decided_by),
        rules=rules_of(decision.rules),
        credential=_credential(request, decision),
        visible=sorted(request.visible),
        subject=_subject(decision.subject),
        latency_us=max(0, round((answered_at - request.at) * 1_000_000)),
        policy_revision=policy.version.revision if policy else 0,
        made_by_page=verdict.effect is Effect.DENY and was_made_by_a_page(request),
        waf_score=score,
        would_refuse=score is not None and would_refuse(score, decision, policy),
    )


def record_of_new(
    request: AccessRequest,
    decision: Decision,
    policy: PolicySnapshot | None,
    *,
    decision_id: str,
    status: int,
    answered_at: float,
) -> AccessRecord | EncodedRecord:
    """Build the record of ``record_of``, directly as bytes if the request is let in and nothing is unusual."""
    verdict, host, path, query = decision.verdict, request.host, *request.uri.partition("?")[::2]
    agent = request.header("user-agent")
    is_usual = verdict.effect is _ALLOW and not decision.rules and len(path) <= PATH.length
    if not is_usual or len(agent) > USER_AGENT.length or not are_plain(path, agent):
        return record_of(request, decision, policy, decision_id=decision_id, status=status, answered_at=answered_at)
    values = {
        "decision_id": decision_id,
        "at": request.at,
        "client_ip": text_of(request.client),
        "country_code": decision.country_code,
        "method": request.method,
        "scheme": request.scheme,
        "host": HOST.mask(host.name) if host else None,
        "path": path,
        "query": _query(query, policy),
        "user_agent": agent,
        "status": status,
        "outcome": _ALLOW,
        "reason": verdict.reason,
        "decided_by": row_of(verdict.decided_by),
        "rules": [],
        "credential": _credential(request, decision),
        "visible": _sorted(request.visible),
        "subject": _subject(decision.subject),
        "latency_us": max(0, round((answered_at - request.at) * 1_000_000)),
        "policy_revision": policy.version.revision if policy else 0,
    }
    try:
        return EncodedRecord(request.at, orjson.dumps(values))
    except orjson.JSONEncodeError:
        return record_of(request, decision, policy, decision_id=decision_id, status=status, answered_at=answered_at)


@lru_cache(64)  # few combinations of seven names
def _sorted(names: frozenset[str]) -> list[str]:
    return sorted(names)


def record_again(
    request: AccessRequest,
    decision: Decision,
    policy: PolicySnapshot | None,
    *,
    decision_id: str,
    status: int,
    answered_at: float,
) -> AccessRecord | EncodedRecord:
    """Build the record of ``record_of`` from the bytes that allowed requests with the same head share."""
    shared, verdict = request.shared, decision.verdict
    if shared is None or policy is None or decision.rules or verdict.effect is not Effect.ALLOW:
        return record_of(request, decision, policy, decision_id=decision_id, status=status, answered_at=answered_at)
    same = _memo_key(decision, policy, status)
    known = shared.record
    if known is None or known[0] != same:
        record = record_of(request, decision, policy, decision_id=decision_id, status=status, answered_at=answered_at)
        data = replace(record, decision_id="", at=0.0, path="", query="", latency_us=0).to_bytes()
        before, _, rest = data.removeprefix(_BEGIN).partition(_TARGET)
        middle, _, after = rest.rpartition(_LATENCY)
        shared.record = (same, before, middle, after) if middle else None
        return record
    return joined(known[1:], policy, decision_id=decision_id, at=request.at, uri=request.uri, answered_at=answered_at)


Parts = tuple[bytes, bytes, bytes]
"""Bytes of a record around the values that differ between requests with the same head and decision."""


def parts_for(shared: Shared, decision: Decision, policy: PolicySnapshot, status: int) -> Parts | None:
    """Return the shared bytes of a head's last record, or None if it was for another decision."""
    known = shared.record
    return known[1:] if known is not None and known[0] == _memo_key(decision, policy, status) else None


def _memo_key(decision: Decision, policy: PolicySnapshot, status: int) -> tuple[object, ...]:
    verdict = decision.verdict
    return (policy.identity, verdict.reason, verdict.decided_by, decision.subject, decision.country_code, status)


def joined(
    parts: Parts, policy: PolicySnapshot, *, decision_id: str, at: float, uri: str, answered_at: float
) -> EncodedRecord:
    """Join the shared bytes and the varying values of a request to its record."""
    before, middle, after = parts
    path, _, query = uri.partition("?")
    values = (
        decision_id.encode(),
        orjson.dumps(at),
        before,
        orjson.dumps(masked(PATH, path)),
        orjson.dumps(_query(query, policy)),
        middle,
        max(0, round((answered_at - at) * 1_000_000)),
        after,
    )
    return EncodedRecord(at, b'{"decision_id":"%b","at":%b%b,"path":%b,"query":%b,%b"latency_us":%d,%b' % values)


def _query(query: str, policy: PolicySnapshot | None) -> str:
    """Return the masked query string if the settings log it, else only whether there was one."""
    if policy is not None and policy.settings.log_query_strings is QueryStrings.MASKED:
        return masked(QUERY, query)
    return MASK if query else ""


def masked(field: Field, text: str) -> str:
    """Return what the field keeps of a text: masked before it is cut, because half a secret is not recognized.

    For bounded time a long text is cut first, and its end, which may be half a secret, is dropped after masking.
    """
    most = field.length + _DROPPED_LENGTH
    if len(text) <= most:
        return field.mask(text)[: field.length]
    masked = field.mask(text[:most])
    return masked[:-_DROPPED_LENGTH][: field.length] or MASK


def was_made_by_a_page(request: AccessRequest) -> bool:
    """Return whether another site's page, or a tag of a page of this site, caused the request (Fetch Metadata).

    If ``Sec-Fetch-Site`` was sent, it alone decides: ``cross-site`` and ``same-site`` in any mode, because a page
    can navigate without a click, and ``same-origin`` with ``no-cors`` (tags), because visitors can write pages too.
    Without it, as on plain http, an ``Origin``, or else a ``Referer``, of another host decides.
    """
    site = request.header("sec-fetch-site")
    if site:
        return site in _OTHER_SITES or (site == "same-origin" and request.header("sec-fetch-mode") == "no-cors")
    origin = request.header("origin")
    return origin == "null" or _is_of_another_host(origin or request.header("referer"), request.host)


def _is_of_another_host(url: str, own: Host | None) -> bool:
    """True for a URL of another host. Ports are ignored: some proxies do not pass them on."""
    theirs = Authority.of_url(url)
    return own is not None and theirs is not None and theirs.host != own


def row_of(decided_by: DecidedBy | None) -> dict[str, object] | None:
    """Return the kind and id of the row that decided."""
    return {"kind": decided_by.kind, "id": decided_by.id} if decided_by else None


def rules_of(matches: Iterable[RuleMatch]) -> list[dict[str, object]]:
    """Return the matched WAF rules; action ``monitor`` is a match that was not enforced."""
    return [
        {
            "id": match.rule_id,
            "name": match.name,
            "action": (Action.BLOCK if match.enforced else Action.MONITOR).value,
            **({"place": _place(*match.place)} if match.place else {}),
        }
        for match in matches
    ]


def _place(target: str, name: str | None) -> dict[str, object]:
    """Return the part of a request and the name in it, without secrets; its value is never recorded."""
    if name is None:
        return {"target": target, "name": None}
    text = masked_text(name[:_MAX_NAME]).encode("latin-1", "replace").decode("utf-8", "replace")
    return {"target": target, "name": text[:_SHOWN_NAME]}


def waf_score(matches: Iterable[RuleMatch]) -> int | None:
    """Return the highest score of one category of rules that block, None without such a match."""
    scores: dict[str, int] = {}
    for match in matches:
        if match.blocks:
            scores[match.category] = scores.get(match.category, 0) + match.score
    return max(scores.values(), default=None)


def would_refuse(score: int, decision: Decision, policy: PolicySnapshot | None) -> bool:
    """True if WAF rules with this score would have refused the request if they were enforced."""
    is_enough = policy is not None and score >= policy.settings.waf_threshold
    return is_enough and not any(match.enforced for match in decision.rules)


def _credential(request: AccessRequest, decision: Decision) -> dict[str, object] | None:
    """Return the kind of the first credential and whether any was valid; never a secret.

    A refusal before the credential step leaves it ``not-checked``, except one by WAF rules.
    """
    if not request.credentials:
        return None
    subject = decision.subject
    checked = decision.effect is Effect.ALLOW or decision.reason in _CHECKED
    state = "valid" if subject else "not-valid" if checked else "not-checked"
    return {"kind": str(request.credentials[0].kind), "amr": list(subject.amr) if subject else [], "state": state}


def _subject(subject: Subject | None) -> dict[str, object] | None:
    return {"kind": str(subject.kind), "id": subject.id, "name": subject.name} if subject else None
