"""The backup file: a ZIP archive of tables as JSON lines, written atomically, with a manifest of SHA-256 digests."""

import errno
import fcntl
import hashlib
import io
import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

from gatewall.kernel.file_io import sync_folder, try_lock

FORMAT = 1
"""Version of the file format. A release reads its own format and refuses later ones."""
DATA_KEYS = "data-keys"
_MANIFEST = "manifest.json"
_MAX_MANIFEST_BYTES = 16 * 1024 * 1024
_BLOCK = 1024 * 1024
_LEVEL = 3
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # the manifest has the time
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, KeyError, ValueError, TypeError)
"""Exceptions that zipfile and json raise for damaged bytes."""


class BackupRefused(Exception):
    """Nothing was written or restored; the message is one line for the operator."""


@dataclass(frozen=True)
class StoredTable:
    """A table in a backup: its columns in order, its number of rows and the last value of its sequence."""

    columns: list[str]
    rows: int
    sequence: int


@dataclass(frozen=True)
class Manifest:
    """Metadata of a backup. ``lineage`` identifies its policy revision in this installation's history.

    ``log_days``: the times of the first and the last row of the access log, or empty.
    """

    format: int
    version: str
    engine: str
    made_at: str
    host: str
    revision: int
    epoch: str
    lineage: str
    has_log: bool
    log_days: list[str]
    migrations: list[list[str]]
    tables: dict[str, StoredTable]


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """Yield a file of mode 0600 that gets its name, synced to disk, only if the block succeeds.

    Raises BackupRefused if the name is taken, unless ``force``, or while another process writes this file; OSError.
    """
    _refuse_taken(path, force=force)
    partial = path.with_name(f".{path.name}.partial")
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(partial, flags, 0o600), "r+b") as file:
        if not try_lock(file.fileno()):
            raise BackupRefused(f"another backup to {path} is being written")
        try:
            os.fchmod(file.fileno(), 0o600)
            file.truncate()  # a killed backup may have left data
            yield file
            file.flush()
            os.fsync(file.fileno())
            _refuse_taken(path, force=force)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    sync_folder(path.parent)


def _refuse_taken(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise BackupRefused(f"{path} is a folder: name a file in it")
    if os.path.lexists(path) and not force:
        raise BackupRefused(f"{path} exists already: choose another name, or replace it with --force")


class ArchiveWriter:
    """Writes members one after the other, in bounded memory, and the manifest at the end."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)
        self._digests: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError, ValueError):  # after an error, which zipfile would print again
            self._zip.close()

    @contextmanager
    def member(self, name: str) -> Iterator[Callable[[bytes], None]]:
        """Yield a function that appends bytes to a new member."""
        digest = hashlib.sha256()
        with self._zip.open(_info(name), "w", force_zip64=True) as member:

            def write(data: bytes) -> None:
                digest.update(data)
                member.write(data)

            yield write
        self._digests[name] = digest.hexdigest()

    def close(self, manifest: Manifest) -> None:
        """Write the manifest, without which a file is not a backup."""
        content = {**asdict(manifest), "members": self._digests}
        self._zip.writestr(_info(_MANIFEST), json.dumps(content, indent=1))
        self._zip.close()


def member_of(table: str) -> str:
    """Return the name of the member that has the rows of a table."""
    return f"tables/{table}.jsonl"


class Archive:
    """A backup whose digests were verified. ``opened`` makes it."""

    def __init__(self, archive: zipfile.ZipFile, manifest: Manifest, members: Mapping[str, str]) -> None:
        self.manifest = manifest
        self._zip = archive
        self._members = members

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> Iterator["Archive"]:
        """Verify every member, then yield the archive. Raises BackupRefused if it is damaged or too new; OSError."""
        with path.open("rb") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH)
            try:
                archive = zipfile.ZipFile(file)
                found = cls(archive, *_manifest_of(archive))
                found._verify()
            except (*_DAMAGE, OSError) as error:
                if isinstance(error, OSError) and error.errno != errno.EINVAL:  # that is an offset before the file
                    raise
                raise BackupRefused(f"{path} is no complete backup: {str(error) or type(error).__name__}") from None
            yield found

    def rows(self, table: str) -> Iterator[list[Any]]:
        """Yield the rows of a table as lists of JSON values, in the order of its columns."""
        with io.BufferedReader(self._zip.open(member_of(table)), _BLOCK) as lines:  # type: ignore[type-var]  # readable
            for line in lines:
                yield json.loads(line)

    def data_keys(self) -> str | None:
        """Return the text of the data keys, or None if the backup has no secrets."""
        return self._zip.read(DATA_KEYS).decode() if DATA_KEYS in self._members else None

    def _verify(self) -> None:
        names = [name for name in self._zip.namelist() if name != _MANIFEST]
        wanted = {member_of(table) for table in self.manifest.tables}
        if sorted(names) != sorted(self._members) or wanted != set(self._members) - {DATA_KEYS}:
            raise ValueError("its members are not those of its manifest")
        for name, expected in self._members.items():
            digest = hashlib.sha256()
            with self._zip.open(name) as member:
                while block := member.read(_BLOCK):
                    digest.update(block)
            if digest.hexdigest() != expected:
                raise ValueError(f"{name} was altered")


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _FIXED_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def _manifest_of(archive: zipfile.ZipFile) -> tuple[Manifest, dict[str, str]]:
    if archive.getinfo(_MANIFEST).file_size > _MAX_MANIFEST_BYTES:
        raise ValueError("its manifest is too long")
    content = json.loads(archive.read(_MANIFEST))
    if content["format"] != FORMAT:
        raise BackupRefused(
            f"the backup has format {content['format']}, and this release reads format {FORMAT}: "
            "restore it with the release that made it, or a later one"
        )
    members = dict(content.pop("members"))
    content["tables"] = {name: StoredTable(**table) for name, table in content["tables"].items()}
    return Manifest(**content), members
