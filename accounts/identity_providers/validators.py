"""Check and normalize the fields of an identity provider."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.openid.settings import reach_of
from accounts.provider_models import IdentityProvider
from gatewall.engine.groups import ADMINS
from gatewall.engine.hosts import Authority
from gatewall.kernel.downloads import DownloadRefused, require_acceptable
from policies.models import Group
from policies.validators import canonical_domain

MAX_SCOPES, MAX_VALUES, MAX_GROUPS_OF_A_VALUE, MAX_EMAIL_DOMAINS = 20, 200, 50, 50
LONGEST_VALUE = 255
CLAIM_PATTERN = r"[A-Za-z0-9_.:/-]{1,64}"
SCOPE_PATTERN = r"[\x21\x23-\x5b\x5d-\x7e]{1,100}"


def validate_provider(provider: IdentityProvider) -> None:
    """Raise ValidationError unless the fields are valid and consistent; put e-mail domains into canonical form."""
    _validate_issuer(provider)
    for name in ("username_claim", "groups_claim"):
        value = getattr(provider, name)
        if value and not re.fullmatch(CLAIM_PATTERN, value):
            raise ValidationError({name: _("the name of a claim")})
    if "openid" not in provider.scopes:
        raise ValidationError({"scopes": _("the scope openid must be among them")})
    if len(provider.scopes) > MAX_SCOPES or not all(re.fullmatch(SCOPE_PATTERN, scope) for scope in provider.scopes):
        raise ValidationError({"scopes": _("at most 20 names of scopes")})
    try:
        domains = [canonical_domain(name) for name in provider.allowed_email_domains]
    except ValidationError as error:
        raise ValidationError({"allowed_email_domains": error}) from None
    if len(domains) > MAX_EMAIL_DOMAINS or any(name.startswith("*.") for name in domains):
        raise ValidationError({"allowed_email_domains": _("at most 50 domains, without a wildcard")})
    provider.allowed_email_domains = sorted(set(domains))
    if _gives_admin(provider) and not provider.group_map_gives_admin:
        words = _(
            "with this map, everybody in these groups at the provider becomes an administrator: set "
            "group_map_gives_admin to allow it"
        )
        raise ValidationError({"group_map": ValidationError(words, code="gives-admin")})


def mapped_groups(group_map: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Convert a group map from names to ids of groups. Raises ValidationError for the field ``group_map``."""
    names = {name for given in group_map.values() for name in given} - {ADMINS}
    ids: dict[str, Any] = dict(Group.objects.filter(name__in=names).values_list("name", "pk"))
    if unknown := sorted(names - set(ids)):
        words = _("there is no group %(name)s")
        raise ValidationError({"group_map": ValidationError(words, params={"name": unknown[0]})})
    ids[ADMINS] = ADMINS
    return {value: [ids[name] for name in dict.fromkeys(given)] for value, given in group_map.items()}


def _gives_admin(provider: IdentityProvider) -> bool:
    return any(ADMINS in given for given in provider.mapped_groups.values())


def _validate_issuer(provider: IdentityProvider) -> None:
    issuer = provider.issuer
    plain = issuer.isascii() and issuer.isprintable() and set(' "#?<>\\').isdisjoint(issuer)
    if not plain or Authority.of_url(issuer) is None:
        raise ValidationError(
            {"issuer": _("an https URL without a query, as the provider's discovery document has it")}
        )
    try:
        urlsplit(issuer)
        require_acceptable(issuer, reach_of(issuer, allow_private=provider.allow_private))
    except (DownloadRefused, ValueError) as refused:
        raise ValidationError({"issuer": str(refused)}) from None
