"""Find the user of an identity at a provider: linked before, linked by verified e-mail, or created."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from accounts import services
from accounts.identity_providers import claimed_groups, selectors, sessions
from accounts.identity_providers.claimed_groups import claim_of
from accounts.models import User
from accounts.openid.tokens import IdToken
from accounts.provider_models import ExternalIdentity, IdentityProvider
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Conflict, Forbidden, Gone
from gatewall.policy import revisions

_LONGEST_EMAIL = 254


class IdentityRefused(Forbidden):
    """No user has this identity, or the provider's rules refuse it."""

    code = "identity-refused"


class IdentityTaken(Conflict):
    """The identity, or the user, is linked already."""

    code = "identity-taken"


class LastWayIn(Conflict):
    """Without this identity the user could not sign in."""

    code = "last-way-in"


@revisions.one_at_a_time
def identity_of(provider: IdentityProvider, token: IdToken, *, client_ip: str, at: datetime) -> ExternalIdentity:
    """Return the linked identity of a sign-in, with its active user. Raises IdentityRefused.

    Links an unknown identity to a user, or creates the user, if the settings of the provider allow it.
    """
    _require_email_domain(provider, token.claims)
    identity = _find(provider, token.subject)
    if identity is None:
        user = _user_by_email(provider, token.claims) or _create_user(provider, token.claims)
        identity = _insert_link(provider, user, token, client_ip=client_ip, at=at)
    if not identity.user.is_active:
        raise IdentityRefused(_("This account is disabled."))
    shown_name = _shown_name(provider, token.claims)
    ExternalIdentity.objects.filter(pk=identity.pk).update(last_used_at=at, shown_name=shown_name)
    return identity


@revisions.one_at_a_time
def link(provider: IdentityProvider, user: User, token: IdToken, *, client_ip: str, at: datetime) -> ExternalIdentity:
    """Link an identity to a signed-in user. Raises IdentityRefused, IdentityTaken, Gone."""
    _require_email_domain(provider, token.claims)
    found = _find(provider, token.subject)
    if found is None:
        return _insert_link(provider, revisions.as_it_is_now(user), token, client_ip=client_ip, at=at)
    if found.user_id != user.pk:
        raise IdentityTaken(_("This account at %(provider)s is linked to another user."), provider=provider.name)
    return found


@revisions.one_at_a_time
def unlink(
    identity: ExternalIdentity, *, ways_in: Callable[[User], int], client_ip: str, at: datetime, session: Any = None
) -> None:
    """Remove a user's own link, the groups that it gave, and the sessions opened with it except ``session``.

    ``ways_in`` returns the number of other methods with which the user can sign in. Raises LastWayIn, Gone.
    """
    identity = _reread(identity)
    user, provider = identity.user, identity.provider
    if not ways_in(user) and not selectors.has_identity(user, besides=identity.pk):
        raise LastWayIn(_("Without it you could not sign in. Ask an administrator for a password first."))
    claimed_groups.withdraw(identity, actor=user.username)
    sessions.end_of_identity(identity, at=at, besides=session)
    identity.delete()
    record_event(Event(EventKind.IDENTITY_UNLINKED, at, client_ip, user, detail={"provider": provider.slug}))


def _find(provider: IdentityProvider, subject: str) -> ExternalIdentity | None:
    found = ExternalIdentity.objects.select_related("user", "provider")
    return found.filter(provider=provider, issuer=provider.issuer, subject=subject).first()


def _reread(identity: ExternalIdentity) -> ExternalIdentity:
    found = ExternalIdentity.objects.select_related("user", "provider").filter(pk=identity.pk).first()
    if found is None:
        raise Gone("the link was removed in the meantime")
    return found


def _insert_link(
    provider: IdentityProvider, user: User, token: IdToken, *, client_ip: str, at: datetime
) -> ExternalIdentity:
    row = ExternalIdentity(
        provider=provider,
        user=user,
        issuer=provider.issuer,
        subject=token.subject,
        shown_name=_shown_name(provider, token.claims),
        linked_at=at,
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise IdentityTaken(
            _("You are linked to another account at %(provider)s. Unlink that first."), provider=provider.name
        ) from None
    record_event(Event(EventKind.IDENTITY_LINKED, at, client_ip, user, detail={"provider": provider.slug}))
    return row


def _require_email_domain(provider: IdentityProvider, claims: Mapping[str, Any]) -> None:
    if not provider.allowed_email_domains:
        return
    email = _verified_email(claims)
    if email.rpartition("@")[2].lower() not in provider.allowed_email_domains:
        raise IdentityRefused(
            _("Only e-mail addresses of some domains may sign in with %(provider)s."), provider=provider.name
        )


def _user_by_email(provider: IdentityProvider, claims: Mapping[str, Any]) -> User | None:
    """Return the only user with the verified e-mail address, None without one or if the provider does not link by it.

    An administrator or auditor is never linked by an address: they link on their account page.
    """
    email = _verified_email(claims)
    if not provider.link_verified_email or not email:
        return None
    found = list(User.objects.filter(email__iexact=email)[:2])
    if len(found) > 1:
        raise IdentityRefused(
            _("More than one user has this e-mail address. Sign in here and link %(provider)s on your account page."),
            provider=provider.name,
        )
    if found and (found[0].is_admin or found[0].is_auditor):
        raise IdentityRefused(
            _("An administrator is not linked by e-mail. Sign in here and link %(provider)s on your account page."),
            provider=provider.name,
        )
    return found[0] if found else None


def _create_user(provider: IdentityProvider, claims: Mapping[str, Any]) -> User:
    if not provider.create_users:
        raise IdentityRefused(
            _("Nobody here is linked to this account at %(provider)s. Sign in here and link it on your account page."),
            provider=provider.name,
        )
    name = claim_of(claims, provider.username_claim)
    email = _verified_email(claims)
    try:
        return services.create_user(
            actor=f"provider {provider.slug}",
            username=name if isinstance(name, str) else "",
            password=None,
            email=email,
            all_domains=False,
        )
    except services.UsernameTaken:
        raise IdentityRefused(
            _("There is a user of this name already. Sign in here and link %(provider)s on your account page."),
            provider=provider.name,
        ) from None
    except ValidationError:
        raise IdentityRefused(
            _("%(provider)s gave no user name that can be used here. Ask the operator of this site."),
            provider=provider.name,
        ) from None


def _verified_email(claims: Mapping[str, Any]) -> str:
    """Return the e-mail address that the provider verified, or "". Only the JSON value true counts as verified."""
    email = claims.get("email")
    is_verified = claims.get("email_verified") is True
    return email if is_verified and isinstance(email, str) and len(email) <= _LONGEST_EMAIL else ""


def _shown_name(provider: IdentityProvider, claims: Mapping[str, Any]) -> str:
    """Return a display name of an account at a provider: its user name, e-mail address or name."""
    for name in (claim_of(claims, provider.username_claim), claims.get("email"), claims.get("name")):
        if isinstance(name, str) and name.isprintable() and name:
            return name[:_LONGEST_EMAIL]
    return ""
