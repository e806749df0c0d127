"""Hold the current policy of one process and swap in newer ones. No Django, no I/O of its own."""

import logging
from collections.abc import Callable
from threading import Lock
from typing import Protocol

from gatewall.engine.snapshot import PolicySnapshot, Version
from gatewall.snapshot.confirmed import PolicyAge, elapsed

logger = logging.getLogger(__name__)


class PolicyUnavailable(Exception):
    """The policy cannot be read or is not usable right now; the message says why."""


class PolicyRefused(PolicyUnavailable):
    """The version in force will never be usable, however often it is read."""


class PolicyStore(Protocol):
    """Where published policy comes from."""

    def version(self) -> Version:
        """Return the version in force. Raises PolicyUnavailable."""

    def load(self, version: Version) -> PolicySnapshot:
        """Return the policy of this version or a later one. Raises PolicyUnavailable, PolicyRefused."""


class PolicyHolder:
    """The policy in memory, replaced as a whole when the store has moved on.

    After an outage the database may have been restored: the policy is reloaded then, even if the version is equal.

    Static stability: once there is a policy, a store that fails takes nothing back. What this host has published
    meanwhile is taken up, so that a change that was made just before is not lost to who had not asked yet.
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
        """Ask ``fallback`` for a policy later than ours while the store fails; ``on_reload`` when all is read anew.

        ``confirmed`` says then when another process of this host has last found this version in force.
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
        self._away = self._read_after = object()  # a new one whenever the store fails
        self._lock = Lock()
        self._taking = Lock()

    def current(self) -> PolicySnapshot | None:
        """Return the newest policy that can be had, or None if there never was one."""
        asked_at = self._clock()
        try:
            version = self._store.version()
            policy = self._policy
            if self._is_to_be_loaded(version, policy):
                policy = self._load(version)
                is_in_force = policy is not None and not version.supersedes(policy.version)
            else:
                is_in_force = policy is not None and version == policy.version  # one that went back is not
            if is_in_force and version != self._refused:
                self._confirm(asked_at)
        except PolicyUnavailable as error:
            logger.warning("policy not refreshed: %s", error)
            if not isinstance(error, PolicyRefused):
                self._away, self._refused = object(), None
            return self._without_store()
        return policy

    def _is_to_be_loaded(self, version: Version, policy: PolicySnapshot | None) -> bool:
        if version == self._refused:
            return False
        if policy is None or version.supersedes(policy.version):
            return True
        return version == policy.version and self._read_after is not self._away

    def _without_store(self) -> PolicySnapshot | None:
        policy = self._policy
        published = self._fallback(policy.version if policy else None)
        policy = self._take(published) if published else self._policy
        if policy is not None:
            self._confirm(self._confirmed(policy.version))
        return policy

    def _confirm(self, at: float | None) -> None:
        before = self._confirmed_at
        if at is not None and (before is None or at > before or before > self._clock()):  # a clock can go back
            self._confirmed_at = at

    def _load(self, version: Version) -> PolicySnapshot | None:
        with self._lock:  # one thread loads, the others wait: who has just written must see it
            if not self._is_to_be_loaded(version, self._policy):
                return self._policy
            away = self._away
            try:
                loaded = self._store.load(version)
            except PolicyRefused:
                self._refused = version
                raise
            policy = self._take(loaded, anew=self._read_after is not away)
            self._read_after = away
            return policy

    def _take(self, policy: PolicySnapshot, *, anew: bool = False) -> PolicySnapshot:
        """Swap in the policy if it is newer, or equal on a forced reload (``anew``); return the one in force."""
        with self._taking:  # never held while somebody reads
            before = self._policy
            is_again = anew and before is not None and policy.version == before.version
            if before is not None and not is_again and not policy.version.supersedes(before.version):
                return before
            self._policy = policy
        if before is not None and policy.version.reloads != before.version.reloads:
            self._on_reload()
        return policy
