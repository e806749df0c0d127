"""Convert machine credentials to the engine's values."""

from collections import defaultdict

from django.db import connection
from django.db.models import Q

from gatewall.engine.segments import DIGEST_SHARDS, shard_of_app_token, shard_of_git_token, shard_of_license
from gatewall.engine.snapshot import AppTokenState, GitTokenState, LicenseState
from licensing.models import AppToken, GitToken, License
from policies.policy_source import seconds

_EXISTENCE_QUERY = (
    "SELECT EXISTS (SELECT 1 FROM licensing_gittoken), EXISTS (SELECT 1 FROM licensing_apptoken), "
    "EXISTS (SELECT 1 FROM licensing_license)"
)
"""Whether rows of each kind exist; one statement, because every publication runs it."""


def token_shards() -> list[str]:
    """Return the shards of git tokens, app tokens and licenses."""
    with connection.cursor() as cursor:
        cursor.execute(_EXISTENCE_QUERY)
        kinds = zip((shard_of_git_token, shard_of_app_token, shard_of_license), cursor.fetchone(), strict=True)
    return [shard_of(letter) for shard_of, exist in kinds if exist for letter in DIGEST_SHARDS]


def git_tokens(shard: str) -> tuple[GitTokenState, ...]:
    """Return the git tokens of a shard."""
    rows = GitToken.objects.filter(_is_in(shard)).values_list("id", "user_id", "digest", "expires_at")
    return tuple(GitTokenState(id_, user_id, digest, seconds(end)) for id_, user_id, digest, end in rows)


def app_tokens(shard: str) -> tuple[AppTokenState, ...]:
    """Return the app tokens of a shard."""
    domains = _domains_of(AppToken, "apptoken", shard)
    columns = ("id", "user_id", "digest", "expires_at", "all_domains", "path_prefixes")
    rows = AppToken.objects.filter(_is_in(shard)).values_list(*columns)
    return tuple(
        AppTokenState(id_, user_id, digest, seconds(end), all_domains, frozenset(domains[id_]), tuple(paths))
        for id_, user_id, digest, end, all_domains, paths in rows
    )


def licenses(shard: str) -> tuple[LicenseState, ...]:
    """Return the licenses of a shard."""
    domains = _domains_of(License, "license", shard)
    rows = License.objects.filter(_is_in(shard)).values_list("id", "digest", "is_active", "expires_at", "all_domains")
    return tuple(
        LicenseState(id_, digest, is_active, seconds(end), all_domains, frozenset(domains[id_]))
        for id_, digest, is_active, end, all_domains in rows
    )


def _domains_of(model: type[AppToken | License], name: str, shard: str) -> defaultdict[int, set[str]]:
    """Return the domains in the scope of each row of a shard, by row id."""
    domains: defaultdict[int, set[str]] = defaultdict(set)
    links = model.authorized_domains.through.objects.filter(_is_in(shard, f"{name}__digest"))
    for id_, domain in links.values_list(f"{name}_id", "authorizeddomain__name"):
        domains[id_].add(domain)
    return domains


def _is_in(shard: str, digest: str = "digest") -> Q:
    # Not a range of letters: its meaning depends on the database's collation.
    return Q((f"{digest}__startswith", shard))
