"""Queries of identity providers and linked identities. Read-only."""

from django.conf import settings
from django.db.models import Q, QuerySet

from accounts.models import User
from accounts.openid.settings import ProviderSettings
from accounts.provider_models import ClaimedGroup, ExternalIdentity, IdentityProvider, ProviderSession
from gatewall.credentials.sealing import SealBroken, Sealer
from gatewall.engine.groups import ADMINS
from gatewall.engine.hosts import Authority, DomainTable
from policies import policy_source


def sealing_context(provider_id: int) -> str:
    """Return the sealing context, which binds a client secret to its provider's row."""
    return f"identity-provider:{provider_id}"


def id_token_context(identity_id: int) -> str:
    """Return the sealing context, which binds an ID token to its identity."""
    return f"id-token:{identity_id}"


def settings_of(provider: IdentityProvider) -> ProviderSettings:
    """Return the settings of a provider for the OpenID Connect client. Raises SealBroken."""
    secret = None
    if provider.sealed_client_secret:
        sealer = Sealer(settings.GATEWALL_DATA_KEYS)
        secret = sealer.open(provider.sealed_client_secret, context=sealing_context(provider.pk)).decode()
    return ProviderSettings(
        key=provider.pk,
        issuer=provider.issuer,
        client_id=provider.client_id,
        client_secret=secret,
        scopes=tuple(provider.scopes),
        allow_private=provider.allow_private,
    )


def id_token_of(row: ProviderSession) -> str:
    """Return the ID token of a session, "" if there is none or it cannot be decrypted."""
    sealer, context = Sealer(settings.GATEWALL_DATA_KEYS), id_token_context(row.identity_id)
    try:
        return sealer.open(row.sealed_id_token, context=context).decode() if row.sealed_id_token else ""
    except SealBroken:
        return ""


def enabled_providers() -> QuerySet[IdentityProvider]:
    """Return the enabled providers, in order of name."""
    return IdentityProvider.objects.filter(enabled=True).order_by("name", "id")


def offered(host: str) -> list[IdentityProvider]:
    """Return the enabled providers that this host offers, in order of name."""
    authority = Authority.parse(host)
    domain = DomainTable(policy_source.domains()).match(authority.host) if authority else None
    site = domain.name if domain else None
    return [provider for provider in enabled_providers() if not provider.domains or site in provider.domains]


def enabled_provider(slug: str) -> IdentityProvider | None:
    """Return the enabled provider of this slug, or None."""
    return IdentityProvider.objects.filter(slug=slug, enabled=True).first()


def identities_of(user: User) -> QuerySet[ExternalIdentity]:
    """Return the identities of a user, with their providers and claimed groups."""
    found = ExternalIdentity.objects.filter(user=user).select_related("provider")
    return found.prefetch_related("claimed_groups__group").order_by("id")


def claimed_groups(user_id: int) -> list[dict[str, str]]:
    """Return the groups that claims gave a user, each with ``group``, ``provider``, ``claim`` and ``value``."""
    rows = ClaimedGroup.objects.filter(identity__user=user_id).select_related("group", "identity__provider")
    return [
        {
            "group": row.group.name if row.group else ADMINS,
            "provider": row.identity.provider.slug,
            "claim": row.claim,
            "value": row.value,
        }
        for row in rows.order_by("id")
    ]


def has_identity(user: User, *, besides: int | None = None) -> bool:
    """Return whether a user can sign in at an enabled provider, with another identity than ``besides``."""
    found = ExternalIdentity.objects.filter(user=user, provider__enabled=True)
    return (found if besides is None else found.exclude(pk=besides)).exists()


def has_privileged_users(provider: IdentityProvider) -> bool:
    """Return whether an admin or auditor is linked to the provider."""
    privileged = Q(user__is_admin=True) | Q(user__is_auditor=True)
    return provider.identities.filter(privileged).exists()
