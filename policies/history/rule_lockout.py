"""Lockout guard of access rules: warn operators before a rule refuses their own requests at a registered host.

The engine itself decides, with the rows of the transaction, one request for ``/`` of every registered host, from the
caller's address and with the caller's session.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.utils import timezone

from gatewall.credentials.check import session_subject
from gatewall.engine.addresses import IPAddress
from gatewall.engine.evaluate import evaluate
from gatewall.engine.hosts import Authority, Host
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import AccessRequest, Credential, CredentialKind, Decision, Effect, Reason, Subject
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import KINDS, EnforcementMode, PolicySnapshot, Segment
from gatewall.engine.users import UserState
from gatewall.kernel.clientip import Caller
from gatewall.policy import revisions, system_settings
from policies import geo, policy_source
from policies.history.confirmation import await_confirmation
from policies.history.lockout import WouldLockYouOut, without_pending
from policies.models import AccessRule

_VISIBLE = frozenset({"for", "host", "proto", "method", "uri"})
_EXAMPLE_LABEL = "any-name-below."
_LEFT_OUT = frozenset({Segment.ALLOWED_NETWORKS, Segment.WAF_RULES, Segment.SHARE_LINKS, Segment.DEVICE_PASSES})
"""Segments not read: lists are looked up by address, the WAF is off, and a session needs no share link or pass."""
Decisions = Mapping[str, Decision]
"""Decisions by the name of the registered domain."""


@contextmanager
def guard_against_rules(caller: Caller | None, *, force: bool) -> Iterator[None]:
    """Raise WouldLockYouOut if, by the changes in the block, a rule refuses the caller where they were let in before.

    For a service that holds the head and creates its revision inside. A command has no caller, and nothing to protect.
    With ``force``, the changes are made and are reverted unless somebody confirms them (``confirmation.py``).
    """
    if caller is None:
        yield
        return
    let_in, before = let_in_now(caller), revisions.current().revision
    yield
    found = refused_of(let_in, caller)
    if found is None:
        return
    if not force:
        words = _("the rule %(rule)s would refuse you at %(host)s")
        raise WouldLockYouOut(words, rule=_name_of(found[1]), host=found[0])
    await_confirmation(before, caller, seconds=settings.GATEWALL_CONFIRM_SECONDS)


def refused_of(let_in: set[str], caller: Caller) -> tuple[str, int] | None:
    """Return one of the domains ``let_in`` where a rule refuses the caller now, and the rule's id; or None."""
    return next(((name, rule) for name, rule in _refused(caller).items() if name in let_in), None)


def let_in_now(caller: Caller) -> set[str]:
    """Return the domains where the caller is let in, with or without the pending forced changes."""
    states = decisions(caller), without_pending(lambda: decisions(caller)) or {}
    return {name for state in states for name, each in state.items() if each.effect is Effect.ALLOW}


def _refused(caller: Caller) -> dict[str, int]:
    """Return where a rule refuses the caller, with and without the pending forced changes: rule ids by domain."""
    now, without = decisions(caller), without_pending(lambda: decisions(caller))
    return {
        name: each.verdict.decided_by.id
        for name, each in now.items()
        if each.verdict.decided_by
        and _is_refused(each)
        and (without is None or (name in without and _is_refused(without[name])))
    }


def _is_refused(decision: Decision) -> bool:
    return decision.reason is Reason.ACCESS_DENIED


def _name_of(rule_id: int) -> str:
    return str(AccessRule.objects.filter(pk=rule_id).values_list("name", flat=True).first())


def decisions(caller: Caller) -> Decisions:
    """Return the decisions of the policy in this transaction for the caller at ``/`` of every registered host."""
    users = get_user_model()._default_manager  # noqa: SLF001 - documented API
    user = None if caller.user_id is None else users.filter(pk=caller.user_id).first()
    policy = _policy_for(caller, user)
    subject = session_subject(policy.users[user.pk], policy, caller.amr) if user else None
    ports = Ports(countries=geo.lookup(), credentials=_KnownCredential(subject), rates=UnlimitedRate())
    at = timezone.now().timestamp()
    return {domain.name: evaluate(_request(caller, domain.name, at), policy, ports) for domain in policy.domains.all()}


def _request(caller: Caller, domain: str, at: float) -> AccessRequest:
    name = _EXAMPLE_LABEL + domain.removeprefix("*.") if domain.startswith("*.") else domain
    return AccessRequest(
        at=at,
        client=caller.address,
        authority=Authority(Host(name)),
        scheme="https",
        credentials=(Credential(CredentialKind.SESSION_COOKIE, ""),),
        allowlist_applies=caller.allowlist_applies,
        visible=_VISIBLE,
    )


def _policy_for(caller: Caller, user: Any) -> PolicySnapshot:
    """Return the policy in this transaction, without the parts that cannot affect an ordinary request of the caller."""
    sources = policy_source.SEGMENTS.items()
    rows: dict[str, Iterable[Any]] = {segment: source() for segment, source in sources if segment not in _LEFT_OUT}
    rows[Segment.SETTINGS] = [replace(system_settings.load(), waf_mode=EnforcementMode.OFF, request_rate_per_minute=0)]
    rows[Segment.USERS] = [_state_of(user)] if user else []
    tables = {segment: kind.table(rows.get(segment, ())) for segment, kind in KINDS.items()}
    return PolicySnapshot.of(revisions.current(), policy_source.lists_about(caller.address), tables)


def _state_of(user: Any) -> UserState:
    return UserState(
        id=user.pk,
        username=user.username,
        email=user.email,
        is_admin=user.is_admin,
        is_active=user.is_active,
        session_version=user.session_version,
        all_domains=user.all_domains,
        domains=frozenset(domain.name for domain in user.authorized_domains.all()),
        groups=frozenset(group.pk for group in user.groups.all()),
    )


@dataclass(frozen=True, slots=True)
class _KnownCredential:
    """Credential check that always returns the caller's subject."""

    subject: Subject | None

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        return self.subject


class UnlimitedRate:
    """Request rate without a limit: a caller over the limit has to wait, but is not locked out."""

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        return 0
