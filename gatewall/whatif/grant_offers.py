"""Grants for a refused user, narrowest first: derive them from the recorded request, and create one."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.utils import timezone

from audit.spool.records import AccessRecord
from gatewall.engine.access_rules.table import trimmed_readings
from gatewall.engine.grants import Grant
from gatewall.engine.hosts import Access
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.model import AccessRequest, SubjectKind
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.publication.control_plane import sources_of
from gatewall.replay.redecision import recorded_request
from gatewall.whatif.offers import Kind, NotOffered, Offer
from gatewall.whatif.request_paths import longest_prefix
from policies.access_conditions import validate_path_prefix
from policies.grants.services import create_grant
from policies.models import AuthorizedDomain
from policies.models import Grant as GrantRow


def grants_for(record: AccessRecord, decided_by: Mapping[str, Any] | None) -> Iterator[Offer]:
    """Yield the grants that would let the recorded user in; ``decided_by`` is the row that refuses them, if any.

    Yields nothing for programs, for a domain that is denied to all, and if an access rule denies the request to all.
    """
    policy, who = sources_of(settings.CONFIG)[0].current(), record.subject or {}
    request = recorded_request(record, timezone.now().timestamp())
    if policy is None or request is None or who.get("kind") != SubjectKind.USER:
        return
    domain = policy.domains.match(request.host)
    user = get_user_model()._default_manager.filter(pk=who["id"]).first()  # noqa: SLF001 - public by its documentation
    if domain is None or domain.access is Access.DENIED or user is None or not _can_be_lifted(policy, decided_by):
        return
    if prefix := _prefix_of(request, domain.name):
        yield Offer(Kind.GRANT, user.username, user.pk, domain.name, path=prefix)
    yield Offer(Kind.GRANT, user.username, user.pk, domain.name)


def give(offer: Offer, record: AccessRecord, until: datetime, *, actor: str, reason: str = "") -> GrantRow:
    """Create the grant of an offer, and return it. Raises NotOffered and the errors of ``create_grant``."""
    user = get_user_model()._default_manager.filter(pk=offer.row).first()  # noqa: SLF001 - public by its documentation
    domain = AuthorizedDomain.objects.filter(name=offer.domain).first()
    if user is None or domain is None:
        raise NotOffered(_("the reason for this refusal has changed: open the request again"))
    return create_grant(
        actor=actor,
        user=user,
        domain=domain,
        path_prefix=offer.path,
        expires_at=until,
        reason=reason or f"exemption for {record.decision_id}",
        decision_id=record.decision_id,
    )


def _can_be_lifted(policy: PolicySnapshot, decided_by: Mapping[str, Any] | None) -> bool:
    """True if the scope refuses, or an access rule about subjects does: a grant overrides no other rule."""
    if decided_by is None:
        return True
    return any(rule.id == decided_by["id"] and rule.is_about_subjects for rule in policy.access_rules.rules)


def _prefix_of(request: AccessRequest, domain: str) -> str | None:
    """Return the longest prefix of the path with which a grant covers the request, None if there is none."""
    prefix = longest_prefix(request, domain)
    if prefix is None:
        return None
    try:
        validate_path_prefix(prefix)
    except ValidationError:
        return None
    grant = Grant(0, 0, None, domain, prefix, frozenset(), None)
    return prefix if grant.covers(request, domain, lambda: trimmed_readings(request.uri.partition("?")[0])) else None
