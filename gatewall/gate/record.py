"""Build the access record of an answer. Pure."""

from collections.abc import Iterable

from audit.spool.masking import MASK
from audit.spool.records import HOST, PATH, QUERY, USER_AGENT, AccessRecord
from gatewall.engine.addresses import text_of
from gatewall.engine.model import AccessRequest, Action, DecidedBy, Decision, Effect, Reason, RuleMatch, Subject
from gatewall.engine.snapshot import PolicySnapshot, QueryStrings
from gatewall.gate.initiator import was_made_by_a_page


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
    return AccessRecord(
        decision_id=decision_id,
        at=request.at,
        client_ip=text_of(request.client),
        country_code=decision.country_code,
        method=request.method,
        scheme=request.scheme,
        host=HOST.mask(host.name) if host else None,
        # Mask before truncating: half a secret is not recognized.
        path=PATH.mask(path)[: PATH.length],
        query=_query(query, policy)[: QUERY.length],
        user_agent=USER_AGENT.mask(request.header("user-agent"))[: USER_AGENT.length],
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
    )


def _query(query: str, policy: PolicySnapshot | None) -> str:
    """Return the masked query string if the settings log it, else only whether there was one."""
    if policy is not None and policy.settings.log_query_strings is QueryStrings.MASKED:
        return QUERY.mask(query)
    return MASK if query else ""


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
        }
        for match in matches
    ]


def _credential(request: AccessRequest, decision: Decision) -> dict[str, object] | None:
    """Return the kind of the first credential and whether any was valid; never a secret.

    A refusal before the credential step leaves it ``not-checked``.
    """
    if not request.credentials:
        return None
    subject = decision.subject
    checked = decision.effect is Effect.ALLOW or decision.reason is Reason.CREDENTIAL_INVALID
    state = "valid" if subject else "not-valid" if checked else "not-checked"
    return {"kind": str(request.credentials[0].kind), "amr": list(subject.amr) if subject else [], "state": state}


def _subject(subject: Subject | None) -> dict[str, object] | None:
    return {"kind": str(subject.kind), "id": subject.id, "name": subject.name} if subject else None
