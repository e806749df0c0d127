"""Record a policy revision as security events: one for each affected kind, in the transaction of the revision."""

import json
from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth import get_user_model

from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from gatewall.database.prepared import Prepared
from gatewall.kernel.changes import Action, Diff, Resource
from gatewall.models import PolicyRevision

_ACTOR = Prepared(lambda name: get_user_model().objects.filter(username=name))
MAX_CHANGES = 20
MAX_BYTES = 8192
_KIND_BY_RESOURCE = {
    Resource.SETTINGS: EventKind.SETTINGS_CHANGED,
    Resource.WEBHOOKS: EventKind.SETTINGS_CHANGED,
    Resource.IDENTITY_PROVIDERS: EventKind.SETTINGS_CHANGED,
    Resource.USERS: EventKind.USER_CHANGED,
}
_TOKENS = frozenset(
    {
        Resource.LICENSES,
        Resource.GIT_TOKENS,
        Resource.APP_TOKENS,
        Resource.API_TOKENS,
    }
)
_KIND_BY_ACTION = {
    **{(each, Action.CREATED): EventKind.TOKEN_ISSUED for each in _TOKENS},
    **{(each, Action.DELETED): EventKind.TOKEN_REVOKED for each in _TOKENS},
    (Resource.GRANTS, Action.CREATED): EventKind.GRANT_CREATED,
    (Resource.GRANTS, Action.CHANGED): EventKind.GRANT_CHANGED,
    (Resource.GRANTS, Action.DELETED): EventKind.GRANT_DELETED,
    (Resource.SHARE_LINKS, Action.CREATED): EventKind.SHARE_LINK_CREATED,
    (Resource.SHARE_LINKS, Action.CHANGED): EventKind.SHARE_LINK_CHANGED,
    (Resource.SHARE_LINKS, Action.DELETED): EventKind.SHARE_LINK_DELETED,
    (Resource.DEVICE_PASSES, Action.CREATED): EventKind.DEVICE_PASS_CREATED,
    (Resource.DEVICE_PASSES, Action.DELETED): EventKind.DEVICE_PASS_DELETED,
}


def record(revision: PolicyRevision, diff: Diff) -> None:
    """Record the changes of a revision and its actor; details that are too long are only in the revision."""
    counts: defaultdict[EventKind, list[dict[str, Any]]] = defaultdict(list)
    changes: defaultdict[EventKind, list[dict[str, Any]]] = defaultdict(list)
    for parts, by_kind in ((diff.counts, counts), (diff.changes or [], changes)):
        for part in parts:
            by_kind[_kind_of(part)].append(without_secrets(part))
    user = _ACTOR.first(revision.actor) if counts and revision.actor else None
    for kind, numbers in counts.items():
        detail = {
            "revision": revision.number,
            "actor": revision.actor,
            "counts": numbers,
            "changes": None if diff.changes is None else _if_short(changes[kind]),
        }
        record_event(Event(kind, revision.committed_at, user=user, detail=detail))


def _kind_of(part: dict[str, Any]) -> EventKind:
    kind = _KIND_BY_ACTION.get((part["resource"], part["action"]))
    return kind or _KIND_BY_RESOURCE.get(part["resource"], EventKind.POLICY_CHANGED)


def without_secrets(part: dict[str, Any]) -> dict[str, Any]:
    """Return the change without the paths of webhook URLs, which may be secret and would be sent to other webhooks."""
    if part["resource"] != Resource.WEBHOOKS:
        return part
    return part | {side: _without_path(part[side]) for side in ("before", "after") if side in part}


def _without_path(fields: Mapping[str, Any]) -> dict[str, Any]:
    if "url" not in fields:
        return dict(fields)
    return {**fields, "url": url_without_path(fields["url"])}


def url_without_path(url: str) -> str:
    """Return the URL of a webhook without its path, which may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/..."


def _if_short(changes: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """Return the changes, or None if they are too long for an event."""
    if len(changes) > MAX_CHANGES or len(json.dumps(changes)) > MAX_BYTES:
        return None
    return changes
