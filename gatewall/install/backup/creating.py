"""Create a backup: one consistent read of the database, streamed to a file while Gatewall runs."""

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Max, Min
from django.utils import timezone

from audit.models import AccessLog
from gatewall import __version__
from gatewall.install.backup import schema
from gatewall.install.backup.archive import (
    DATA_KEYS,
    FORMAT,
    ArchiveWriter,
    BackupRefused,
    Manifest,
    StoredTable,
    member_of,
    new_file,
)
from gatewall.install.backup.values import Table, read_rows
from gatewall.models import PolicyHead
from gatewall.policy import revisions
from gatewall.publication.compiler import consistent_read
from gatewall.snapshot.host_paths import backups_folder, node_name

LOG_TABLES = frozenset({"audit_accesslog", "audit_accesslogrule"})
_LEFT_OUT = frozenset(
    {"django_session", "accounts_challenge", "accounts_accountlink", "accounts_failurecount", "gatewall_node"}
)
"""Tables of admin sessions, sign-ins waiting for a code, counts of wrong passwords, reports of hosts: not restored."""
_ROWS_AT_ONCE = 500


def create_backup(path: Path, *, with_log: bool, with_secrets: bool, force: bool) -> Manifest:
    """Write a backup of the installation to a file and return its manifest.

    Creates the folder of backups if the file belongs there. Raises BackupRefused, OSError, django.db.Error; then there
    is no file, or still the old one.
    """
    if path.parent == backups_folder(settings.CONFIG.home):
        path.parent.mkdir(mode=0o700, exist_ok=True)
    with new_file(path, force=force) as file, ArchiveWriter(file) as writer:
        if with_secrets:
            with writer.member(DATA_KEYS) as write:
                write(settings.GATEWALL_DATA_KEYS.text().encode())
        with consistent_read() as moment:
            migrations = _known_migrations()
            tables = schema.tables_at(migrations).values()
            stored = {table.name: _store(writer, table, with_log=with_log) for table in tables}
            manifest = _manifest(moment.head, migrations, stored, has_log=with_log)
        writer.close(manifest)
    return manifest


def _known_migrations() -> list[schema.Node]:
    migrations = schema.applied_migrations()
    if unknown := schema.unknown_migrations(migrations):
        raise BackupRefused(f"the database belongs to a later release ({'.'.join(unknown[0])}): run the backup with it")
    return migrations


def _store(writer: ArchiveWriter, table: Table, *, with_log: bool) -> StoredTable:
    empty = table.name in _LEFT_OUT or (table.name in LOG_TABLES and not with_log)
    rows: Iterable[list[Any]] = () if empty else read_rows(table)
    number, rest = 0, iter(rows)
    with writer.member(member_of(table.name)) as write:
        while batch := list(islice(rest, _ROWS_AT_ONCE)):
            write("".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in batch).encode())
            number += len(batch)
    return StoredTable([column.name for column in table.columns], number, schema.sequence_of(table))


def _manifest(
    head: PolicyHead, migrations: list[schema.Node], tables: dict[str, StoredTable], *, has_log: bool
) -> Manifest:
    return Manifest(
        format=FORMAT,
        version=__version__,
        engine=connection.vendor,
        made_at=timezone.now().isoformat(timespec="seconds"),
        host=node_name(),
        revision=head.revision,
        epoch=str(head.epoch),
        lineage=revisions.lineage_of(revisions.version_of(head)),
        has_log=has_log,
        log_days=_log_days() if has_log else [],
        migrations=[list(node) for node in migrations],
        tables=tables,
    )


def _log_days() -> list[str]:
    span = AccessLog.objects.aggregate(first=Min("at"), last=Max("at"))
    return [at.isoformat() for at in span.values() if at is not None]
