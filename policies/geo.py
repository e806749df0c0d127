"""Status of the geo database (build date, age) for the control plane. The only adapter of geoip2."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import geoip2.database
import maxminddb
from django.conf import settings

from gatewall.kernel import geo_file


@dataclass(frozen=True, slots=True)
class GeoDatabase:
    """What an MMDB says of itself."""

    kind: str
    built_at: datetime


def in_use() -> Path | None:
    """Return the geo database that countries are looked up in, None if there is none."""
    path: Path = settings.GATEWALL_GEOIP_DATABASE or geo_file.installed(settings.GATEWALL_HOME)
    return path if path.exists() else None


def describe(path: Path | None) -> GeoDatabase | None:
    """Return what the database says of itself, or None if there is none or it cannot be read."""
    if path is None:
        return None
    try:
        with geoip2.database.Reader(path) as reader:
            metadata = reader.metadata()
    except (OSError, ValueError, maxminddb.InvalidDatabaseError):
        return None
    return GeoDatabase(metadata.database_type, datetime.fromtimestamp(metadata.build_epoch, tz=UTC))
