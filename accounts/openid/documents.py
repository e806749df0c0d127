"""In-process cache of discovery documents and signing keys; follows key rotation."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from accounts.openid.errors import ProviderFailed
from accounts.openid.fetching import get_json
from accounts.openid.metadata import PATH, Metadata, parse_metadata
from accounts.openid.settings import ProviderSettings

KEPT_SECONDS = 3600
AGAIN_AFTER_SECONDS = 60
"""Minimum time before an unknown key id causes the keys to be fetched again."""
FAILED_SECONDS = 5
"""How long a failure is repeated without another request to the provider."""
_MOST_PROVIDERS = 64
_MOST_KEYS = 32
Fetched = TypeVar("Fetched")
Keys = tuple[Mapping[str, Any], ...]


@dataclass
class _Cached:
    """Cached documents of a provider; times by the monotonic clock. No lock is held during a request."""

    metadata: Metadata | None = None
    metadata_at: float = 0.0
    keys: Keys | None = None
    keys_at: float = 0.0
    failure: ProviderFailed | None = None
    failed_at: float = 0.0


class Documents:
    """Discovery documents and keys of all providers, each fetched when first needed. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._known: dict[ProviderSettings, _Cached] = {}

    def metadata(self, provider: ProviderSettings) -> Metadata:
        """Return the metadata of a provider. Raises ProviderFailed."""
        known = self._of(provider)
        if known.metadata is None or self._clock() - known.metadata_at > KEPT_SECONDS:
            url = f"{provider.issuer.rstrip('/')}{PATH}"
            known.metadata = self._fetched(known, lambda: parse_metadata(get_json(provider, url), provider))
            known.metadata_at = self._clock()
        return known.metadata

    def keys(self, provider: ProviderSettings, *, kid: object = None) -> Keys:
        """Return the public keys of a provider (JWK, RFC 7517), fetched again if none has this ``kid``.

        Raises ProviderFailed.
        """
        known = self._of(provider)
        if self._must_fetch(known, kid):
            jwks_uri = self.metadata(provider).jwks_uri
            known.keys = self._fetched(known, lambda: _keys(get_json(provider, jwks_uri)))
        return known.keys or ()

    def forget(self) -> None:
        """Forget all documents."""
        with self._lock:
            self._known.clear()

    def _must_fetch(self, known: _Cached, kid: object) -> bool:
        """Return whether to fetch the keys now; of two threads with the same unknown key, only one does."""
        with self._lock:
            age = self._clock() - known.keys_at
            is_unknown = kid is not None and all(key.get("kid") != kid for key in known.keys or ())
            must = known.keys is None or age > KEPT_SECONDS or (is_unknown and age > AGAIN_AFTER_SECONDS)
            if must:
                known.keys_at = self._clock()
            return must

    def _of(self, provider: ProviderSettings) -> _Cached:
        with self._lock:
            if provider not in self._known and len(self._known) >= _MOST_PROVIDERS:
                self._known.clear()  # most belong to settings that were replaced
            return self._known.setdefault(provider, _Cached())

    def _fetched(self, known: _Cached, fetch: Callable[[], Fetched]) -> Fetched:
        """Fetch and return a document; after a failure, raise the same one for some seconds. Raises ProviderFailed."""
        if known.failure is not None and self._clock() - known.failed_at < FAILED_SECONDS:
            raise known.failure
        known.failure = None
        try:
            return fetch()
        except ProviderFailed as failed:
            known.failure, known.failed_at = failed, self._clock()
            raise


def _keys(document: Mapping[str, Any]) -> Keys:
    found = document.get("keys")
    if not isinstance(found, list) or not all(isinstance(key, dict) for key in found):
        raise ProviderFailed("bad-keys", "the key set has no list of keys")
    return tuple(found[:_MOST_KEYS])


documents = Documents()
"""The cache of this process."""
