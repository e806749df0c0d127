"""Compare a restored database with the replaced one: find the objects that only one of them has."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db import connection
from django.utils import timezone

MAX_NAMES = 20
_BLOCKED = "b.network = p.network AND b.source = p.source"
_ALLOWED = "a.network = p.network AND coalesce(a.domain_id, 0) = coalesce(p.domain_id, 0)"
_LIVE = "({0}.expires_at IS NULL OR {0}.expires_at > %s)"
_MISSING = "{0}.{1} FROM {2} {0} WHERE {3} AND NOT EXISTS (SELECT 1 FROM {4})"
_ANY = "1 = 1"
_DIFFERENCES = (
    (
        "blocked networks are not blocked any more: they were added after the backup",
        _MISSING.format(
            *("p", "network", "present_blocked", _LIVE.format("p"), f"policies_blocklistentry b WHERE {_BLOCKED}")
        ),
    ),
    (
        "blocked networks are blocked again: they were removed after the backup",
        _MISSING.format(
            *("b", "network", "policies_blocklistentry", _LIVE.format("b"), f"present_blocked p WHERE {_BLOCKED}")
        ),
    ),
    (
        "allowlist entries let networks in again: they were removed after the backup",
        _MISSING.format(
            *("a", "network", "policies_allowlistentry", _LIVE.format("a"), f"present_allowed p WHERE {_ALLOWED}")
        ),
    ),
    (
        "allowlist entries are gone: they were added after the backup",
        _MISSING.format(
            *("p", "network", "present_allowed", _LIVE.format("p"), f"policies_allowlistentry a WHERE {_ALLOWED}")
        ),
    ),
    (
        "users are gone: they were made after the backup",
        _MISSING.format("p", "username", "present_user", _ANY, "accounts_user u WHERE u.id = p.id"),
    ),
    (
        "git tokens are gone: they were issued after the backup",
        _MISSING.format("p", "name", "present_gittoken", _ANY, "licensing_gittoken t WHERE t.digest = p.digest"),
    ),
    (
        "app tokens are gone: they were issued after the backup",
        _MISSING.format("p", "name", "present_apptoken", _ANY, "licensing_apptoken t WHERE t.digest = p.digest"),
    ),
    (
        "share links are gone: they were made after the backup",
        _MISSING.format("p", "name", "present_sharelink", _ANY, "policies_sharelink t WHERE t.digest = p.digest"),
    ),
    (
        "API tokens are gone: they were issued after the backup",
        _MISSING.format("p", "name", "present_apitoken", _ANY, "accounts_apitoken t WHERE t.digest = p.digest"),
    ),
    (
        "licenses are gone: they were issued after the backup",
        _MISSING.format("p", "name", "present_license", _ANY, "licensing_license t WHERE t.digest = p.digest"),
    ),
)
_VALID = (
    ("users may sign in, with the passwords of the backup", "username FROM accounts_user WHERE is_active"),
    ("users are admins", "username FROM accounts_user WHERE is_active AND is_admin"),
    ("git tokens are valid", "t.name FROM licensing_gittoken t WHERE " + _LIVE.format("t")),
    ("app tokens are valid", "t.name FROM licensing_apptoken t WHERE " + _LIVE.format("t")),
    ("share links are valid", "t.name FROM policies_sharelink t WHERE " + _LIVE.format("t")),
    ("API tokens are valid", "t.name FROM accounts_apitoken t WHERE " + _LIVE.format("t")),
    ("licenses are valid", "t.name FROM licensing_license t WHERE t.is_active AND " + _LIVE.format("t")),
    ("networks are blocked", "b.network FROM policies_blocklistentry b WHERE " + _LIVE.format("b")),
    ("allowlist entries are in force", "a.network FROM policies_allowlistentry a WHERE " + _LIVE.format("a")),
)


@dataclass(frozen=True)
class Finding:
    """A finding about objects: their number, the text, and the first names."""

    count: int
    text: str
    names: list[str]

    def line(self) -> str:
        """Return the finding as a line for the operator."""
        more = ", ..." if self.count > len(self.names) else ""
        return f"{self.text} ({self.count}): {', '.join(self.names)}{more}"


@dataclass
class Report:
    """Report of a restore: ``kept_out`` was revoked after the backup, ``differs`` must be judged by the operator."""

    compared: bool = False
    undone: int = 0
    rows: int = 0
    migrated: int = 0
    unopened: int = 0
    kept_out: list[Finding] = field(default_factory=list)
    differs: list[Finding] = field(default_factory=list)

    def detail(self) -> dict[str, Any]:
        """Return the report as JSON values, for the security event."""
        return asdict(self)


def finding(text: str, rows: Sequence[tuple[Any, str]]) -> Finding:
    """Return a finding about rows of id and name."""
    return Finding(len(rows), text, [name for _, name in rows[:MAX_NAMES]])


def differences(*, compared: bool) -> list[Finding]:
    """Return the differences from the replaced database or, without one to compare with, the objects valid now."""
    queries = _DIFFERENCES if compared else _VALID
    found = [_query(text, query) for text, query in queries]
    return [each for each in found if each.count]


def _query(text: str, query: str) -> Finding:
    values = [_now()] * query.count("%s")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM (SELECT {query}) found", values)  # noqa: S608 - our own query
        (count,) = cursor.fetchone()
        cursor.execute(f"SELECT {query} ORDER BY 1 LIMIT {MAX_NAMES}", values)
        names = [name for (name,) in cursor.fetchall()]
    return Finding(count, text, names)


def _now() -> Any:
    return connection.ops.adapt_datetimefield_value(timezone.now())
