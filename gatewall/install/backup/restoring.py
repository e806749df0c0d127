"""Restore a backup: replace the database in one transaction, and begin a new epoch of the policy."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain

from django.db import DataError, IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from accounts.models import User
from audit.event_kinds import EventKind
from audit.events.recording import Event, record_event
from audit.storage import partitions
from gatewall.database.online_index import locking_index_builds
from gatewall.install.backup import ended_sessions, revoked, schema
from gatewall.install.backup.archive import Archive, BackupRefused, Manifest
from gatewall.install.backup.data_keys import number_that_no_key_opens
from gatewall.install.backup.differences import Report, differences, finding
from gatewall.install.backup.values import table_of, write_rows
from gatewall.models import PolicyHead
from gatewall.policy import revisions
from gatewall.publication.announcement import published_by_caller
from gatewall.snapshot.files import PolicyFiles
from webhooks.models import Delivery, DeliveryStatus, Mail

ACTOR = "restore"
_IN_USE = {"55P03", "40P01"}  # lock timeout, deadlock
_LOCK_PATIENCE = "10s"


def refuse_other_release(manifest: Manifest) -> None:
    """Raise BackupRefused if the backup has migrations that this release lacks, or an unfinished part of older ones."""
    if unknown := schema.unknown_migrations(_nodes(manifest)):
        raise BackupRefused(
            f"the backup was made by a later release, {manifest.version} ({'.'.join(unknown[0])}): restore it with that"
        )
    if lacking := schema.lacking_replaced(_nodes(manifest)):
        raise BackupRefused(
            f"the backup was made before 0.1.0 and lacks {'.'.join(lacking[0])}: install commit "
            f"{schema.LAST_WITH_EARLIER_MIGRATIONS}, restore it with that, then install this version again"
        )


def restore_backup(archive: Archive, files: PolicyFiles) -> Report:
    """Replace the whole database by the backup, all or nothing; ``files`` are published by the caller afterwards.

    The data keys of the backup must be in the ring. Raises BackupRefused, django.db.Error.
    """
    manifest = archive.manifest
    refuse_other_release(manifest)
    with published_by_caller(), _one_transaction(), locking_index_builds():
        compared = revoked.is_later_state_of(manifest)
        # Tokens name users by id: no new user may get the id of one who is not in the backup.
        last_user = schema.sequence_of(table_of(User)) if compared else ended_sessions.unused_number()
        parent = _parent_epoch(files)
        report = Report(compared=compared, undone=_number_undone(manifest) if compared else 0)
        if compared:
            revoked.remember_present()
        schema.drop_tables()
        report.rows = _load(archive, last_user)
        report.migrated = schema.migrate_on()
        _keep_revoked(report)
        report.differs = differences(compared=compared)
        report.unopened = number_that_no_key_opens()
        if compared:
            revoked.forget_present()
        revisions.begin_epoch(after=parent or uuid.UUID(manifest.epoch))
        revisions.demand_reload()
        _record(report, manifest)
    return report


@contextmanager
def _one_transaction() -> Iterator[None]:
    """Run the block in one transaction that may change tables, and translate the errors that a backup can cause."""
    checked = connection.disable_constraint_checking() and connection.vendor == "sqlite"
    try:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute(f"SET LOCAL lock_timeout TO '{_LOCK_PATIENCE}'")
            yield
            schema.check_constraints()
    except (IntegrityError, DataError) as error:
        raise BackupRefused(f"the rows of the backup do not fit: {str(error).splitlines()[0]}") from None
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") not in _IN_USE:
            raise
        raise BackupRefused("another process uses the database: stop Gatewall on every host") from None
    finally:
        if checked:
            connection.enable_constraint_checking()


def _load(archive: Archive, last_user: int) -> int:
    """Create the tables of the backup and load its rows; return how many."""
    manifest, nodes, number = archive.manifest, _nodes(archive.manifest), 0
    schema.make_tables(nodes)
    if manifest.log_days:
        first, last = (datetime.fromisoformat(text).astimezone(UTC).date() for text in manifest.log_days)
        partitions.prepare_span(first, last, timezone.now().date())
    tables = schema.tables_at(nodes)
    if tables.keys() != manifest.tables.keys():
        raise BackupRefused("the backup has other tables than its migrations make")
    for name, table in tables.items():
        stored = manifest.tables[name]
        if set(stored.columns) != {column.name for column in table.columns}:
            raise BackupRefused(f"the backup has other columns of {name} than its migrations make")
        if write_rows(name, stored.columns, archive.rows(name)) != stored.rows:
            raise BackupRefused(f"the backup has another number of rows of {name} than its manifest says")
        number += stored.rows
        schema.continue_after(table, max(stored.sequence, last_user if name == "accounts_user" else 0))
    schema.check_constraints()
    return number


def _keep_revoked(report: Report) -> None:
    """End all sessions, cut what was revoked since, send no message twice, and record this as a revision."""
    ended_sessions.end_all_sessions(compared=report.compared)
    made = []
    if report.compared:
        for what in revoked.CUTS:
            if rows := revoked.cut(what):
                report.kept_out.append(finding(what.text, rows))
                made.append(revoked.changes_of(what, rows))
        revoked.keep_scopes_and_second_factors()
    for queue in (Delivery, Mail):
        queue.objects.filter(status=DeliveryStatus.WAITING).update(
            status=DeliveryStatus.FAILED, next_at=None, failure="restored from a backup: not sent again"
        )
    revisions.advance(actor=ACTOR, changes=chain.from_iterable(made))


def _record(report: Report, manifest: Manifest) -> None:
    detail = {
        "revision": revisions.head().revision,
        "actor": ACTOR,
        "backup": {"made_at": manifest.made_at, "host": manifest.host, "revision": manifest.revision},
        **report.detail(),
    }
    record_event(Event(EventKind.SETTINGS_CHANGED, detail=detail))


def _parent_epoch(files: PolicyFiles) -> uuid.UUID | None:
    """Return the current epoch of this installation's hosts, or None if neither files nor database have one."""
    published = files.in_force()
    if published is not None:
        return uuid.UUID(published.version.epoch)
    if PolicyHead._meta.db_table not in connection.introspection.table_names():  # noqa: SLF001 - public
        return None
    return revisions.head().epoch


def _number_undone(manifest: Manifest) -> int:
    return max(0, revisions.head().revision - manifest.revision)


def _nodes(manifest: Manifest) -> list[schema.Node]:
    return schema.by_present_names((app, name) for app, name in manifest.migrations)
