"""Where the control plane gets its policy from: the Django cache, else the rows."""

import logging

from django.core.cache import cache
from django.db import Error
from redis import RedisError

from gatewall import revisions
from gatewall.engine.snapshot import PolicySnapshot, PolicySource, Version
from gatewall.engine.waf.matcher import PatternRefused, RuleSet
from gatewall.snapshot import codec
from gatewall.snapshot.compiler import compile_policy
from gatewall.snapshot.holder import PolicyRefused, PolicyUnavailable

logger = logging.getLogger(__name__)

_KEPT_SECONDS = 3600
_CACHE_ERRORS = (RedisError, OSError)
"""The cache only saves work: without it the rows are read."""


class DatabasePolicyStore:
    """Asks the database for the version on every request, and reads the rows when it has moved.

    One indexed row is what makes the writer's next request see the change in every process, on every
    host, and a rolled-back change be seen by nobody.
    """

    def version(self) -> Version:
        """Return the committed version. Raises PolicyUnavailable."""
        try:
            return revisions.current()
        except Error as error:
            raise PolicyUnavailable(f"the database cannot be read ({type(error).__name__})") from error

    def load(self, version: Version) -> PolicySnapshot:
        """Return the policy of this version or a later one. Raises PolicyUnavailable, PolicyRefused."""
        source = self._cached(version) or self._compiled()
        try:
            return PolicySnapshot(source, RuleSet(source.waf_rules))
        except PatternRefused as error:
            raise PolicyRefused(f"a WAF rule of revision {source.version.revision} is refused: {error}") from error

    def _cached(self, version: Version) -> PolicySource | None:
        try:
            data = cache.get(_key(version))
        except _CACHE_ERRORS as error:
            logger.warning("the cache cannot be read (%s)", type(error).__name__)
            return None
        if not isinstance(data, bytes):
            return None
        try:
            source = codec.decode(data)
        except codec.DecodeError as error:
            logger.warning("cached policy ignored: %s", error)
            return None
        return source if source.version == version else None

    def _compiled(self) -> PolicySource:
        try:
            source = compile_policy()
        except Error as error:
            raise PolicyUnavailable(f"the rows cannot be read ({type(error).__name__})") from error
        except ValueError as error:
            raise PolicyRefused(f"a row is not what the engine understands: {error}") from error
        try:
            cache.set(_key(source.version), codec.encode(source), _KEPT_SECONDS)
        except _CACHE_ERRORS as error:
            logger.warning("the cache cannot be written (%s)", type(error).__name__)
        return source


def _key(version: Version) -> str:
    # The schema is part of the key, so that old and new workers never share bytes during an upgrade.
    return f"policy:{codec.SCHEMA}:{version.revision}.{version.revocations}"
