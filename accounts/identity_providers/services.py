"""Create, change and delete identity providers. Rows store client secrets encrypted."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.utils import timezone

from accounts.identity_providers import sessions, validators
from accounts.identity_providers.claimed_groups import withdraw_all
from accounts.identity_providers.selectors import sealing_context
from accounts.provider_models import IdentityProvider
from gatewall.credentials.sealing import Sealer
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.changes import describe, difference
from gatewall.kernel.refusals import Conflict
from gatewall.policy import revisions
from policies import rows

MAX_PROVIDERS = 20
"""Maximum number: the guard page has a button for each."""


class TooManyProviders(Conflict):
    """The maximum number of identity providers exists."""

    code = "too-many-identity-providers"


@revisions.one_at_a_time
def create_provider(*, actor: str, client_secret: str = "", **values: Any) -> IdentityProvider:
    """Create an identity provider. Raises ValidationError, Duplicate, TooManyProviders."""
    if IdentityProvider.objects.count() >= MAX_PROVIDERS:
        raise TooManyProviders(_("there are %(number)s identity providers already"), number=MAX_PROVIDERS)
    provider = IdentityProvider(created_by=actor)
    _write(provider, values)
    _set_secret(provider, client_secret)
    revisions.advance(actor=actor, changes=[difference(None, describe(provider))])
    return provider


@revisions.one_at_a_time
def change_provider(
    provider: IdentityProvider, *, actor: str, client_secret: str | None = None, **values: Any
) -> IdentityProvider:
    """Change an identity provider. Disabling it, and another issuer or client, end the sessions opened through it.

    Raises ValidationError, Duplicate, Gone.
    """
    provider = revisions.as_it_is_now(provider)
    before, was = describe(provider), (provider.issuer, provider.client_id)
    _write(provider, values)
    if client_secret is not None:
        _set_secret(provider, client_secret)
    if not provider.enabled or was != (provider.issuer, provider.client_id):
        sessions.end_of_provider(provider, at=timezone.now())
    noted = {} if client_secret is None else {"client_secret": "changed"}
    revisions.advance(actor=actor, changes=[difference(before, describe(provider), noted=noted)])
    return provider


@revisions.one_at_a_time
def delete_provider(provider: IdentityProvider, *, actor: str) -> None:
    """Delete an identity provider with its links, the sessions opened through it, and the groups that it gave.

    Raises LastAdmin, Gone.
    """
    provider = revisions.as_it_is_now(provider)
    sessions.end_of_provider(provider, at=timezone.now())
    withdraw_all(provider, actor=actor)
    rows.delete(provider, actor=actor)


def _write(provider: IdentityProvider, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(provider, name, value)
    validators.validate_provider(provider)
    rows.check_and_save(provider, repr(provider.slug))


def _set_secret(provider: IdentityProvider, secret: str) -> None:
    sealer = Sealer(settings.GATEWALL_DATA_KEYS)
    sealed = sealer.seal(secret.encode(), context=sealing_context(provider.pk)) if secret else ""
    provider.sealed_client_secret = sealed
    provider.save(update_fields=["sealed_client_secret"])
