"""Delete several kinds of tokens of a user, for services that create the revision."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from accounts.models import User
from gatewall.engine.segments import shard_of_app_token, shard_of_git_token
from gatewall.kernel.changes import describe, difference

_SHARD_OF: dict[str, Callable[[str], str]] = {"git": shard_of_git_token, "app": shard_of_app_token}
"""Function that returns the shard of a digest, by kind. API tokens are in no segment: the gate does not accept them."""

KINDS_OF_TOKENS = ("git", "app", "api")


def kinds_to_revoke(flags: Mapping[str, bool]) -> list[str]:
    """Return the kinds whose flag ``revoke_KIND_tokens`` of an input is set."""
    return [kind for kind in KINDS_OF_TOKENS if flags.get(f"revoke_{kind}_tokens")]


def delete_tokens(user: User, kinds: Collection[str]) -> tuple[set[str], list[Any]]:
    """Delete a user's tokens of these kinds of ``KINDS_OF_TOKENS``; return the changed shards and the changes."""
    shards: set[str] = set()
    gone: list[Any] = []
    tables: dict[str, Any] = {"git": user.git_tokens, "app": user.app_tokens, "api": user.api_tokens}
    for kind in sorted(kinds):
        tokens = list(tables[kind].all())
        gone += [difference(describe(token), None) for token in tokens]
        if kind in _SHARD_OF:
            shards |= {_SHARD_OF[kind](token.digest) for token in tokens}
        tables[kind].all().delete()
    return shards, gone
