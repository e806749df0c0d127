"""ISO 3166-1 alpha-2 country codes and their English names (Unicode CLDR), from ``countries.tsv``."""

from pathlib import Path

_LINES = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
COUNTRY_NAMES: dict[str, str] = dict(line.split("\t") for line in _LINES)
