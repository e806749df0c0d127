"""Default path of the geo database, and a check of its format. Pure: standard library only."""

from pathlib import Path

_MARKER, _METADATA_BYTES = b"\xab\xcd\xefMaxMind.com", 128 * 1024  # the MMDB format's own limit


def installed(home: Path) -> Path:
    """Return the default path, where ``gatewall geo install`` installs the geo database."""
    return home / "geo" / "country.mmdb"


def refuse_other_files(path: Path, name: str) -> None:
    """Raise ValueError unless the file is an MMDB; the message calls it by its ``name``."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _METADATA_BYTES))
            end = file.read(_METADATA_BYTES)
    except OSError:
        raise ValueError(f"{name!r}, which is not a readable file") from None
    if _MARKER not in end:
        raise ValueError(f"{name!r}, which is not an MMDB file")
