"""Reads single variables of an environment. Pure: standard library only.

A secret ``NAME`` can also be read from the file that ``NAME_FILE`` names, or from its file under
``GATEWALL_HOME/secrets``, where ``bin/up`` puts it.
"""

from collections.abc import Mapping
from pathlib import Path

MIN_SECRET_LENGTH = 32


class ConfigError(Exception):
    """A variable has a value that cannot be used; the message is the one line to show."""


class Reader:
    """Reads single variables. Every method raises ConfigError for a value that cannot be used."""

    def __init__(self, environ: Mapping[str, str], files: Mapping[str, Path]) -> None:
        self._environ = environ
        self._files = files

    def integer(self, name: str, *, default: int, minimum: int, maximum: int) -> int:
        text = self._environ.get(name, str(default))
        if not (text.isascii() and text.isdigit() and len(text) < 10 and minimum <= int(text) <= maximum):
            raise ConfigError(f"{name} must be a whole number from {minimum} to {maximum}, not {text!r}")
        return int(text)

    def boolean(self, name: str, *, default: bool) -> bool:
        text = self._environ.get(name, "1" if default else "0")
        if text not in {"0", "1"}:
            raise ConfigError(f"{name} must be 0 or 1, not {text!r}")
        return text == "1"

    def choice(self, name: str, *, default: str, choices: tuple[str, ...]) -> str:
        text = self._environ.get(name, default).upper()
        if text not in choices:
            raise ConfigError(f"{name} must be one of {', '.join(choices)}, not {text!r}")
        return text

    def secret(self, name: str) -> str | None:
        """Return a secret from NAME, from the file NAME_FILE, or from its file under the state folder."""
        value, file = self._environ.get(name), self._environ.get(f"{name}_FILE")
        if value and file:
            raise ConfigError(f"{name} and {name}_FILE are both set: set one")
        if value:
            return value
        if file:
            return _read_secret(f"{name}_FILE", Path(file))
        default = self._files.get(name)
        return _read_secret(name, default) if default and default.exists() else None

    def key(self, name: str) -> str:
        """Return a secret that nothing works without."""
        value = self.secret(name)
        if value is None:
            raise ConfigError(
                f"{name} is not set: `python -m gatewall.credentials.keyfiles` makes one in {self._files[name].parent}"
            )
        if len(value) < MIN_SECRET_LENGTH or len(set(value)) < MIN_SECRET_LENGTH // 4:
            raise ConfigError(f"{name} is too short or not random: at least {MIN_SECRET_LENGTH} characters are needed")
        return value


def _read_secret(name: str, path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{name} names {str(path)!r}, which cannot be read") from None
    if not text:
        raise ConfigError(f"{name} names {str(path)!r}, which is empty")
    return text
