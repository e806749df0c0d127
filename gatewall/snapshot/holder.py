"""Hold the current policy of one process and swap in newer ones. No Django, no I/O of its own."""

import logging
from collections.abc import Callable
from threading import Lock
from typing import Protocol

from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.snapshot.confirmed import PolicyAge, elapsed

logger = logging.getLogger(__name__)


class PolicyUnavailable(Exception):
    """The policy cannot be read now; the message says why."""


class PolicyRefused(PolicyUnavailable):
    """The published version can never be used; retrying is pointless."""


class PolicyStore(Protocol):
    """Source of published policy."""

    def version(self) -> Version:
        """Return the current version. Raises PolicyUnavailable."""

    def load(self, version: Version) -> PolicySnapshot:
        """Load the policy of this version or a later one. Raises PolicyUnavailable, PolicyRefused."""


class PolicyHolder:
    """The policy in memory, replaced as a whole by newer versions of the store.

    After an outage the database may have been restored: the policy is reloaded then, even if the version is equal.

    Static stability: while the store fails, the policy stays in force, and only newer policy published on this host
    replaces it, so that a change committed just before the failure is not lost.
    """

    def __init__(
        self,
        store: PolicyStore,
        *,
        fallback: Callable[[Version | None], PolicySnapshot | None] = lambda _version: None,
        on_reload: Callable[[], None] = lambda: None,
        confirmed: Callable[[Version], float | None] = lambda _version: None,
        clock: Callable[[], float] = elapsed,
    ) -> None:
        """While the store fails, ``fallback`` returns a policy newer than the given version, and ``confirmed`` when
        another process of this host last confirmed a version. ``on_reload`` runs after a full reload.
        """
        self._store = store
        self._fallback = fallback
        self._on_reload = on_reload
        self._confirmed = confirmed
        self._clock = clock
        self._confirmed_at: float | None = None
        self.age = PolicyAge(lambda: self._confirmed_at, clock)
        self._policy: PolicySnapshot | None = None
        self._refused: Version | None = None
        self._outage = self._outage_at_load = object()  # a new object for each outage
        self._lock = Lock()
        self._swap_lock = Lock()

    def current(self) -> PolicySnapshot | None:
        """Return the newest available policy, or None if there never was one."""
        asked_at = self._clock()
        try:
            version = self._store.version()
            policy = self._policy
            if self._needs_load(version, policy):
                policy = self._load(version)
                is_in_force = policy is not None and not version.supersedes(policy.version)
            else:
                is_in_force = policy is not None and version == policy.version  # False if an older state was restored
            if is_in_force and version != self._refused:
                self._confirm(asked_at)
        except PolicyUnavailable as error:
            logger.warning("policy not refreshed: %s", error)
            if not isinstance(error, PolicyRefused):
                self._outage, self._refused = object(), None
            return self._without_store()
        return policy

    def _needs_load(self, version: Version, policy: PolicySnapshot | None) -> bool:
        if version == self._refused:
            return False
        if policy is None or version.supersedes(policy.version):
            return True
        return version == policy.version and self._outage_at_load is not self._outage

    def _without_store(self) -> PolicySnapshot | None:
        policy = self._policy
        published = self._fallback(policy.version if policy else None)
        policy = self._take(published) if published else self._policy
        if policy is not None:
            self._confirm(self._confirmed(policy.version))
        return policy

    def _confirm(self, at: float | None) -> None:
        before = self._confirmed_at
        if at is not None and (before is None or at > before or before > self._clock()):  # the clock moved back
            self._confirmed_at = at

    def _load(self, version: Version) -> PolicySnapshot | None:
        with self._lock:  # one thread loads, the others wait: a writer must see its own change
            if not self._needs_load(version, self._policy):
                return self._policy
            outage = self._outage
            try:
                loaded = self._store.load(version)
            except PolicyRefused:
                self._refused = version
                raise
            policy = self._take(loaded, forced=self._outage_at_load is not outage)
            self._outage_at_load = outage
            return policy

    def _take(self, policy: PolicySnapshot, *, forced: bool = False) -> PolicySnapshot:
        """Swap in the policy if it is newer, or equal on a forced reload (``forced``); return the one in force."""
        with self._swap_lock:  # never held during I/O
            before = self._policy
            is_reload = forced and before is not None and policy.version == before.version
            if before is not None and not is_reload and not policy.version.supersedes(before.version):
                return before
            self._policy = policy
        if before is not None and policy.version.reloads != before.version.reloads:
            self._on_reload()
        return policy
