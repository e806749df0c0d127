"""Convert machine credentials to the engine's values."""

from collections import defaultdict
from datetime import datetime

from django.db.models import Q

from gatewall.engine.segments import DIGEST_SHARDS, shard_of_git_token, shard_of_license
from gatewall.engine.snapshot import GitTokenState, LicenseState
from licensing.models import GitToken, License


def token_shards() -> list[str]:
    """Return the shards of git tokens and licenses."""
    kinds = ((GitToken, shard_of_git_token), (License, shard_of_license))
    return [shard_of(letter) for model, shard_of in kinds if model.objects.exists() for letter in DIGEST_SHARDS]


def git_tokens(shard: str) -> tuple[GitTokenState, ...]:
    """Return the git tokens of a shard."""
    rows = GitToken.objects.filter(_is_in(shard)).values_list("id", "user_id", "digest", "expires_at")
    return tuple(GitTokenState(id_, user_id, digest, _seconds(end)) for id_, user_id, digest, end in rows)


def licenses(shard: str) -> tuple[LicenseState, ...]:
    """Return the licenses of a shard."""
    domains: defaultdict[int, set[str]] = defaultdict(set)
    links = License.authorized_domains.through.objects.filter(_is_in(shard, "license__digest"))
    for license_id, name in links.values_list("license_id", "authorizeddomain__name"):
        domains[license_id].add(name)
    rows = License.objects.filter(_is_in(shard)).values_list("id", "digest", "is_active", "expires_at", "all_domains")
    return tuple(
        LicenseState(id_, digest, is_active, _seconds(end), all_domains, frozenset(domains[id_]))
        for id_, digest, is_active, end, all_domains in rows
    )


def _is_in(shard: str, digest: str = "digest") -> Q:
    # Not a range of letters: its meaning depends on the database's collation.
    return Q((f"{digest}__startswith", shard))


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
