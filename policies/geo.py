"""Build date and age of the geo database, for the control plane. The only adapter of geoip2."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import geoip2.database
import maxminddb
from django.conf import settings
from geoip2.database import MODE_FILE

from gatewall.kernel import geo_file


@dataclass(frozen=True, slots=True)
class GeoDatabase:
    """Metadata of a geo database (MMDB)."""

    kind: str
    built_at: datetime


def configured() -> Path:
    """Return the path of the geo database, whether or not it exists: ``GEOIP_DATABASE``, or the default."""
    path: Path = settings.GATEWALL_GEOIP_DATABASE or geo_file.installed(settings.GATEWALL_HOME)
    return path


def in_use() -> Path | None:
    """Return the path of the configured geo database, or None."""
    path = configured()
    return path if path.exists() else None


def describe(path: Path | None) -> GeoDatabase | None:
    """Return the metadata of the database, None if it is missing or unreadable."""
    if path is None:
        return None
    try:
        with geoip2.database.Reader(path, mode=MODE_FILE) as reader:
            metadata = reader.metadata()
    except (OSError, ValueError, maxminddb.InvalidDatabaseError):
        return None
    return GeoDatabase(metadata.database_type, datetime.fromtimestamp(metadata.build_epoch, tz=UTC))
