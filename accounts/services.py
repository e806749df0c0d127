"""Change users and sessions; advance the revision if access changes."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F

from accounts import selectors
from accounts.models import Session, User
from accounts.token_removal import KINDS_OF_TOKENS, delete_tokens
from accounts.visitor import Visitor
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.segments import shard_of_user
from gatewall.kernel.changes import describe, difference
from gatewall.kernel.refusals import Conflict, Gone
from gatewall.policy import revisions
from policies.groups.members import groups_of_a_user
from policies.models import AuthorizedDomain, Group
from policies.rows import still_registered
from policies.rule_references import grants_removed_with, remove_from_rules, segments_of

_PRUNED_AT_ONCE = 1000


class UsernameTaken(Conflict):
    """A user of this name exists, ignoring case."""

    code = "duplicate"


class LastAdmin(Conflict):
    """The last active admin cannot be deleted, demoted or disabled."""

    code = "last-admin"


class AdminExists(Conflict):
    """An administrator already exists."""

    code = "admin-exists"


class EncodedPassword(str):
    """Hash of a validated password, which services accept in place of the password."""

    __slots__ = ()


def create_first_admin(*, username: str, password: str) -> User:
    """Create the first admin. Raises ValidationError, UsernameTaken, AdminExists."""
    actor = "setup"
    return _create_first(
        User(username=username, created_by=actor, password=encode_password(password), is_admin=True), actor
    )


@revisions.one_at_a_time
def _create_first(admin: User, actor: str) -> User:
    if selectors.has_admin():
        raise AdminExists("an administrator already exists")
    return _create(admin, (), (), actor=actor)


def create_user(
    *,
    actor: str,
    username: str,
    password: str | None,
    authorized_domains: Iterable[AuthorizedDomain] = (),
    groups: Iterable[Group] = (),
    **values: Any,
) -> User:
    """Create a user; without a password they sign in another way.

    Raises ValidationError, UsernameTaken, DomainRemoved, GroupRemoved.
    """
    encoded = make_password(None) if password is None else encode_password(password)
    user = User(username=username, created_by=actor, password=encoded, **values)
    return _create(user, authorized_domains, groups, actor=actor)


@revisions.one_at_a_time
def _create(user: User, authorized_domains: Iterable[AuthorizedDomain], groups: Iterable[Group], *, actor: str) -> User:
    _save(user)
    _set_scope(user, authorized_domains, groups)
    revisions.advance(shard_of_user(user.pk), actor=actor, changes=[difference(None, describe(user))])
    return user


def change_user(
    user: User,
    *,
    actor: str,
    password: str | None = None,
    revoke_tokens: Collection[str] = (),
    authorized_domains: Iterable[AuthorizedDomain] | None = None,
    groups: Iterable[Group] | None = None,
    client_ip: str | None = None,
    **values: Any,
) -> User:
    """Change a user. A new password, demotion and disabling end all their sessions; their tokens are kept by default.

    ``revoke_tokens``: kinds to delete, of ``KINDS_OF_TOKENS``. Demotion and disabling also delete their API tokens.

    Raises ValidationError, UsernameTaken, LastAdmin, DomainRemoved, GroupRemoved, Gone.
    """
    encoded = encode_password(password) if password is not None else None
    return _change(
        user,
        values,
        actor=actor,
        password=encoded,
        revoke_tokens=revoke_tokens,
        authorized_domains=authorized_domains,
        groups=groups,
        client_ip=client_ip,
    )


@revisions.one_at_a_time
def _change(
    user: User,
    values: Mapping[str, Any],
    *,
    actor: str,
    password: str | None,
    revoke_tokens: Collection[str],
    authorized_domains: Iterable[AuthorizedDomain] | None,
    groups: Iterable[Group] | None,
    client_ip: str | None,
) -> User:
    user = revisions.as_it_is_now(user)
    before = describe(user)
    was_admin, was_auditor, was_active = user.is_admin, user.is_auditor, user.is_active
    for name, value in values.items():
        setattr(user, name, value)
    loses_admin_right = was_admin and was_active and not (user.is_admin and user.is_active)
    if loses_admin_right:
        _refuse_last_admin(user)
    if password is not None:
        user.password = password
    is_demoted = (was_admin and not user.is_admin) or (was_auditor and not user.is_auditor)
    if password is not None or is_demoted or (was_active and not user.is_active):
        user.session_version = F("session_version") + 1
    _save(user)
    _set_scope(user, authorized_domains, groups)
    user = User.objects.get(pk=user.pk)
    noted = {} if password is None else {"password": "changed"}
    changed = difference(before, describe(user), noted=noted)
    shards, gone = delete_tokens(user, {*revoke_tokens, *(("api",) if loses_admin_right else ())})
    revisions.advance(shard_of_user(user.pk), *shards, actor=actor, changes=[changed, *gone])
    if password is not None:
        record_event(Event(EventKind.PASSWORD_CHANGED, client_ip=client_ip, user=user, detail={"actor": actor}))
    return user


@revisions.one_at_a_time
def delete_user(user: User, *, actor: str) -> None:
    """Delete a user with their sessions, tokens and grants; access rules that name nobody else are disabled.

    Raises LastAdmin, Gone.
    """
    user = revisions.as_it_is_now(user)
    if user.is_staff:
        _refuse_last_admin(user)
    shards, gone = delete_tokens(user, KINDS_OF_TOKENS)
    gone.append(difference(describe(user), None))
    shard, rules = shard_of_user(user.pk), remove_from_rules("users", user)
    segments, grants = grants_removed_with(user=user)
    user.delete()
    revisions.advance(shard, *shards, *segments, *segments_of(rules), actor=actor, changes=[*gone, *grants, *rules])


@transaction.atomic
def open_session(
    user: User, jti: uuid.UUID, *, at: datetime, expires_at: datetime, visitor: Visitor, amr: Iterable[str]
) -> Session:
    """Create the row of a session and note the time of the sign-in, without a new revision. Raises Gone."""
    if not User.objects.filter(pk=user.pk).update(last_login_at=at):
        raise Gone(_("the user was deleted in the meantime"))
    return Session.objects.create(
        jti=jti,
        user=user,
        session_version=user.session_version,
        issued_at=at,
        expires_at=expires_at,
        client_ip=visitor.client_ip,
        user_agent=visitor.user_agent[:256],
        amr=list(amr),
    )


@revisions.one_at_a_time
def end_live_session(jti: uuid.UUID, *, at: datetime) -> None:
    """End a session that is to be replaced. Raises Gone if it has already ended."""
    if not Session.objects.filter(pk=jti, revoked_at__isnull=True).update(revoked_at=at):
        raise Gone("the session was ended in the meantime")
    revisions.advance_revocations()


@revisions.one_at_a_time
def end_sessions_besides(user: User, jti: uuid.UUID | None, *, at: datetime) -> None:
    """End every session of a user except ``jti``."""
    others = Session.objects.filter(user=user, revoked_at__isnull=True, expires_at__gt=at)
    if ended := (others if jti is None else others.exclude(pk=jti)).update(revoked_at=at):
        revisions.advance_revocations()
        record_event(Event(EventKind.SESSION_REVOKED, at, user=user, detail={"sessions": ended}))


@revisions.one_at_a_time
def revoke_session(jti: uuid.UUID, *, at: datetime) -> None:
    """Revoke a session and its token. Idempotent."""
    if Session.objects.filter(pk=jti, revoked_at__isnull=True).update(revoked_at=at):
        revisions.advance_revocations()
        owner = User.objects.get(sessions=jti)
        record_event(Event(EventKind.SESSION_REVOKED, at, user=owner, detail={"sessions": 1}))


def prune_sessions(at: datetime) -> int:
    """Delete sessions that expired before ``needed_since``, at most 1,000; return how many."""
    old = Session.objects.filter(expires_at__lte=selectors.needed_since(at)).order_by("expires_at")
    chosen = list(old.values_list("pk", flat=True)[:_PRUNED_AT_ONCE])
    return Session.objects.filter(pk__in=chosen).delete()[0]


@revisions.one_at_a_time
def end_all_sessions(user: User, *, actor: str) -> None:
    """End every session of a user. Raises Gone."""
    user = revisions.as_it_is_now(user)
    User.objects.filter(pk=user.pk).update(session_version=F("session_version") + 1)
    found = describe(user)
    ended = difference(found, found, noted={"sessions": "ended"})
    revisions.advance(shard_of_user(user.pk), actor=actor, changes=[ended])
    detail = {"sessions": "all", "actor": actor}
    record_event(Event(EventKind.SESSION_REVOKED, user=user, detail=detail))


def _set_scope(
    user: User, authorized_domains: Iterable[AuthorizedDomain] | None, groups: Iterable[Group] | None
) -> None:
    """Set the domains and the groups of a user; None leaves them as they are. Raises DomainRemoved, GroupRemoved."""
    if authorized_domains is not None:
        user.authorized_domains.set(still_registered(authorized_domains))
    if groups is not None:
        user.groups.set(groups_of_a_user(groups))


def _refuse_last_admin(user: User) -> None:
    if not selectors.has_active_admin_besides(user):
        raise LastAdmin(_("%(user)s is the last active admin"), user=user.username)


def encode_password(password: str) -> EncodedPassword:
    """Return the hash of a new password, computed before taking the policy lock, as hashing is slow.

    Raises ValidationError.
    """
    if isinstance(password, EncodedPassword):
        return password
    try:
        validate_password(password)
    except ValidationError as error:
        raise ValidationError({"password": error}) from None
    return EncodedPassword(make_password(password))


def _save(user: User) -> None:
    user.clean_fields(exclude=["password", "session_version", "last_login_at"])
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError:
        raise UsernameTaken(f"there is a user named {user.username!r} already") from None
