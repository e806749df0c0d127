"""The geo database as the control plane sees it: what it is and how old. The only user of geoip2."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import geoip2.database
import maxminddb


@dataclass(frozen=True, slots=True)
class GeoDatabase:
    """What an MMDB says of itself."""

    kind: str
    built_at: datetime


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
