"""Machine credentials as engine values."""

from collections import defaultdict
from datetime import datetime

from gatewall.engine.snapshot import GitTokenState, LicenseState
from licensing.models import GitToken, License


def git_tokens() -> tuple[GitTokenState, ...]:
    """Return the git tokens by digest."""
    rows = GitToken.objects.values_list("id", "user_id", "digest", "expires_at")
    return tuple(GitTokenState(id_, user_id, digest, _seconds(end)) for id_, user_id, digest, end in rows)


def licenses() -> tuple[LicenseState, ...]:
    """Return the licenses by digest."""
    domains: defaultdict[int, set[str]] = defaultdict(set)
    links = License.authorized_domains.through.objects.values_list("license_id", "authorizeddomain__name")
    for license_id, name in links:
        domains[license_id].add(name)
    rows = License.objects.values_list("id", "digest", "is_active", "expires_at", "all_domains")
    return tuple(
        LicenseState(id_, digest, is_active, _seconds(end), all_domains, frozenset(domains[id_]))
        for id_, digest, is_active, end, all_domains in rows
    )


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else moment.timestamp()
