"""Read single environment variables, with errors that name them. Pure: standard library only.

A secret ``NAME`` can also be in the file that ``NAME_FILE`` names, or in its file under ``GATEWALL_HOME/secrets``,
where ``gatewall keys`` puts it.
"""

from collections.abc import Mapping
from pathlib import Path

from gatewall.credentials import base64url
from gatewall.credentials.keyring import KeyRing, KeyRingRefused
from gatewall.credentials.weak import why_weak

MIN_SECRET_LENGTH = 32


class ConfigError(Exception):
    """An environment variable is invalid; the message is one line to show."""


class Reader:
    """Reads single variables. Every method raises ConfigError for an invalid value."""

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
        """Return a secret from NAME, from the file NAME_FILE, or from its default file."""
        value, file = self._environ.get(name), self._environ.get(f"{name}_FILE")
        if value and file:
            raise ConfigError(f"{name} and {name}_FILE are both set: set one")
        path = self.file(name)
        if path is None:
            return value or None
        return _read_secret(f"{name}_FILE" if file else name, path) if file or path.exists() else None

    def file(self, name: str) -> Path | None:
        """Return the file of a secret, or None if it has none."""
        if self._environ.get(name):
            return None
        file = self._environ.get(f"{name}_FILE")
        return Path(file) if file else self._files.get(name)

    def key(self, name: str) -> str:
        return _require_strong(name, self._required(name))

    def _required(self, name: str) -> str:
        value = self.secret(name)
        if value is None:
            raise ConfigError(f"{name} is not set: `gatewall keys` makes one in {self._files[name].parent}")
        return value

    def token(self, name: str) -> str | None:
        """Return an optional secret, which must not be weak."""
        value = self.secret(name)
        return _require_strong(name, value) if value else None

    def key_ring(self, name: str) -> KeyRing:
        """Return a required key ring without weak keys."""
        try:
            ring = KeyRing.parse(self._required(name))
        except KeyRingRefused as error:
            raise ConfigError(f"{name}: {error}") from None
        for key in ring.keys:
            why = why_weak(key.secret.decode("latin-1"))
            if why:
                raise ConfigError(f"{name}: the key {key.kid!r} {why}: make a random one")
        return ring


def _require_strong(name: str, value: str) -> str:
    if len(value) < MIN_SECRET_LENGTH or len(set(value)) < MIN_SECRET_LENGTH // 4:
        raise ConfigError(f"{name} is too short or not random: at least {MIN_SECRET_LENGTH} characters are needed")
    why = why_weak(value)
    if why:
        raise ConfigError(f"{name} {why}: make a random one")
    return value


def refuse_shared(secrets: Mapping[str, str | KeyRing | None]) -> None:
    """Raise ConfigError if one secret serves two purposes, or a ring has a key twice."""
    seen: dict[bytes, str] = {}
    for name, secret in secrets.items():
        spellings = _spellings(secret)
        for one in spellings:
            other = seen.get(one)
            if other is not None:
                two = f"{name} has a key twice" if other == name else f"{name} and {other} share a secret"
                raise ConfigError(f"{two}: each needs one of its own")
            seen[one] = name


def _spellings(secret: str | KeyRing | None) -> list[bytes]:
    """Return a secret as text and, if it is base64, as the decoded bytes."""
    if secret is None:
        return []
    if isinstance(secret, KeyRing):
        return [spelling for key in secret.keys for spelling in (key.secret, base64url.encode(key.secret).encode())]
    decoded = base64url.decode(secret.rstrip("="))
    return [secret.encode(), *([decoded] if decoded else [])]


def _read_secret(name: str, path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{name} names {str(path)!r}, which cannot be read") from None
    if not text:
        raise ConfigError(f"{name} names {str(path)!r}, which is empty")
    return text
