"""The data keys of a backup: without them, second factors and webhook secrets in it cannot be decrypted."""

import os
from pathlib import Path

from django.conf import settings

from gatewall.credentials import ringfile
from gatewall.credentials.keyring import KeyRing, KeyRingRefused
from gatewall.credentials.sealing import SealBroken, kid_of
from gatewall.install.backup.archive import BackupRefused
from gatewall.install.key_rotation import DATA, SEALED_COLUMNS
from gatewall.kernel import env


def add_data_keys(text: str, home: Path) -> list[str]:
    """Append the missing keys of a backup to this host's ring, as retired keys; return their names.

    The active keys stay active, so that no key that was dropped as compromised encrypts again. Raises BackupRefused,
    OSError.
    """
    try:
        theirs = KeyRing.parse(text)
    except KeyRingRefused as error:
        raise BackupRefused(f"the backup's data keys cannot be read: {error}") from None
    if not _missing(settings.GATEWALL_DATA_KEYS, theirs):
        return []
    file = env.secret_file(DATA, os.environ, home)
    if file is None:
        raise BackupRefused(
            f"{DATA} is in the environment and lacks keys of the backup: add those that `unzip -p FILE data-keys` shows"
        )
    try:
        with ringfile.held([file]):
            ours = ringfile.read(file)
            missing = _missing(ours, theirs)
            settings.GATEWALL_DATA_KEYS = KeyRing((*ours.keys, *missing.keys)) if missing else ours
            ringfile.write(file, settings.GATEWALL_DATA_KEYS)
    except ringfile.RotationRunning:
        raise BackupRefused("a key rotation is running: try again when it has ended") from None
    return [key.kid for key in missing.keys] if missing else []


def number_that_no_key_opens() -> int:
    """Return the number of sealed secrets in the database whose key is not in the ring."""
    number = 0
    for column in SEALED_COLUMNS.values():
        for sealed in column.rows().values_list(column.field, flat=True).iterator():
            number += bool(sealed) and not _is_known(sealed)
    return number


def _missing(ours: KeyRing, theirs: KeyRing) -> KeyRing | None:
    """Return the keys of ``theirs`` that ``ours`` lacks, or None. Raises BackupRefused for two keys of one name."""
    for key in theirs.keys:
        known = ours.find(key.kid)
        if known is not None and known.secret != key.secret:
            raise BackupRefused(f"the data key {key.kid} of the backup and that of this host differ: rename one")
    missing = tuple(key for key in theirs.keys if ours.find(key.kid) is None)
    return KeyRing(missing) if missing else None


def _is_known(sealed: str) -> bool:
    try:
        return settings.GATEWALL_DATA_KEYS.find(kid_of(sealed)) is not None
    except SealBroken:
        return False
