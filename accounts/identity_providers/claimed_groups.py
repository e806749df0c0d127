"""Groups that the claims of a provider give its users, updated at each sign-in."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from accounts import services
from accounts.models import User
from accounts.openid.tokens import IdToken
from accounts.provider_models import ClaimedGroup, ExternalIdentity, IdentityProvider
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.engine.groups import ADMINS
from gatewall.policy import revisions
from policies.models import Group

_MOST_VALUES = 1000


def claim_of(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or by its path, as in ``realm_access.roles``; None if it is missing."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


@revisions.one_at_a_time
def update(identity: ExternalIdentity, token: IdToken, *, at: datetime) -> User:
    """Add a user to the groups of this ID token, remove them from those only earlier tokens gave; return the user."""
    provider = identity.provider
    given = _given(provider, token.claims)
    rows = {row.group_id: row for row in identity.claimed_groups.all()}
    user = User.objects.get(pk=identity.user_id)
    has = {group.pk for group in user.groups.all()} | ({None} if user.is_admin else set())
    lost = {id_ for id_, row in rows.items() if row.is_added and id_ not in given}
    lost -= _kept_by_others(identity, lost)
    wanted = (has - lost) | set(given)
    user = _set_groups(user, has, wanted, actor=f"provider {provider.slug}")
    identity.claimed_groups.all().delete()
    ClaimedGroup.objects.bulk_create(
        ClaimedGroup(
            identity=identity,
            group_id=id_,
            claim=provider.groups_claim,
            value=value,
            is_added=id_ not in has or (id_ in rows and rows[id_].is_added),
            claimed_at=at,
        )
        for id_, value in given.items()
    )
    return user


def withdraw(identity: ExternalIdentity, *, actor: str) -> None:
    """Remove the user from the groups that an identity gave. The caller holds the policy lock."""
    lost = {row.group_id for row in identity.claimed_groups.all() if row.is_added}
    lost -= _kept_by_others(identity, lost)
    if lost:
        user = User.objects.get(pk=identity.user_id)
        has = {group.pk for group in user.groups.all()} | ({None} if user.is_admin else set())
        _set_groups(user, has, has - lost, actor=actor)


def withdraw_all(provider: IdentityProvider, *, actor: str) -> None:
    """Remove all users from the groups that a provider gave them. The caller holds the policy lock."""
    for identity in provider.identities.filter(claimed_groups__is_added=True).distinct().iterator():
        withdraw(identity, actor=actor)


def _kept_by_others(identity: ExternalIdentity, ids: set[int | None]) -> set[int | None]:
    """Return the groups that another identity of the user also gives, and mark them as added by that one."""
    others = ClaimedGroup.objects.filter(identity__user=identity.user_id).exclude(identity=identity)
    kept = {row.group_id: row.pk for row in others if row.group_id in ids}
    ClaimedGroup.objects.filter(pk__in=kept.values()).update(is_added=True)
    return set(kept)


def _given(provider: IdentityProvider, claims: Mapping[str, Any]) -> dict[int | None, str]:
    """Return the claim value that gives each group, by group id (None: the rights of an administrator)."""
    found: dict[int | None, str] = {}
    existing = set(Group.objects.values_list("pk", flat=True)) if provider.mapped_groups else set()
    for value in _values(claim_of(claims, provider.groups_claim)):
        for id_ in provider.mapped_groups.get(value, ()):
            if id_ == ADMINS and provider.group_map_gives_admin:
                found.setdefault(None, value)
            elif id_ in existing:
                found.setdefault(id_, value)
    return found


def _values(claim: Any) -> Iterator[str]:
    """Yield the values of a groups claim: a list of texts, or one text."""
    values = claim if isinstance(claim, list) else [claim]
    yield from (value for value in values[:_MOST_VALUES] if isinstance(value, str) and value)


def _set_groups(user: User, has: set[Any], wanted: set[Any], *, actor: str) -> User:
    if wanted == has:
        return user
    values: dict[str, Any] = {}
    if (None in wanted) != (None in has):
        values["is_admin"] = None in wanted
    groups = Group.objects.filter(pk__in=wanted - {None})
    try:
        return services.change_user(user, actor=actor, groups=groups, **values)
    except services.LastAdmin:  # the provider cannot leave the installation without an administrator
        detail = {"why": services.LastAdmin.code, "actor": actor}
        record_event(Event(EventKind.PROVIDER_FAILED, user=user, detail=detail))
        return services.change_user(user, actor=actor, groups=groups)
