"""The control plane's own policy and countries, once per process."""

from gatewall.gate.countries import Countries
from gatewall.kernel.env import Config
from gatewall.publication.store import DatabasePolicyStore
from gatewall.snapshot.assembly import Built
from gatewall.snapshot.holder import PolicyHolder
from gatewall.snapshot.host_paths import policy_files
from gatewall.snapshot.published import LastPublished

Sources = tuple[PolicyHolder, Countries]
_sources: list[tuple[Config, Sources, DatabasePolicyStore]] = []


def sources_of(config: Config) -> Sources:
    """Return the policy and the countries of this process, built once, so that gate and explanation share them.

    The policy comes from the database; while it cannot be read, from the published files if they are newer.
    """
    if not _sources or _sources[0][0] is not config:
        files, countries = policy_files(config), Countries.of(config)
        last_published, store = LastPublished(files), DatabasePolicyStore(files)
        policies = PolicyHolder(
            store,
            fallback=last_published.later_than,
            on_reload=countries.reload,
            confirmed=last_published.confirmed_at,
        )
        _sources[:] = [(config, (policies, countries), store)]
    return _sources[0][1]


def live_tables(config: Config) -> Built | None:
    """Return the tables of the policy of this process, to compose a shadow policy; None before the first decision."""
    sources_of(config)
    return _sources[0][2].built()
