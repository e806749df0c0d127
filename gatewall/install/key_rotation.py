"""Rotate key rings in files, and re-seal secrets (ADR 0015)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from django.db.models import QuerySet

from accounts.identity_providers import selectors as identity_providers
from accounts.models import IdentityProvider, ProviderSession, TotpDevice
from accounts.selectors import longest_session_life
from accounts.sign_in.totp import sealing_context
from gatewall.credentials import ringfile
from gatewall.credentials.keyring import KeyRing, KeyRingRefused
from gatewall.credentials.rotation import RESTART_GRACE, is_announced, new_ring, pruned, replaced, rotated
from gatewall.credentials.sealing import Sealer
from gatewall.database.resealing import Resealed, reseal
from gatewall.policy import system_settings
from webhooks import selectors as webhooks
from webhooks.models import Webhook

SESSIONS, DATA = "GATEWALL_JWT_KEYS", "GATEWALL_DATA_KEYS"


class RotationRefused(Exception):
    """Nothing was rotated; the message is one line for the operator."""


class RotationTooEarly(RotationRefused):
    """Running processes may not know the next keys yet."""


@dataclass(frozen=True)
class SealedColumn:
    """A column of sealed secrets, and the context of its rows."""

    rows: Callable[[], QuerySet[Any]]
    field: str
    context: Callable[[Any], str]


SEALED_COLUMNS = {
    "second factors": SealedColumn(
        TotpDevice.objects.all, "sealed_secret", lambda device: sealing_context(device.user_id)
    ),
    "secrets of webhooks": SealedColumn(
        Webhook.objects.all, "sealed_secret", lambda webhook: webhooks.sealing_context(webhook.pk)
    ),
    "client secrets of identity providers": SealedColumn(
        IdentityProvider.objects.all,
        "sealed_client_secret",
        lambda provider: identity_providers.sealing_context(provider.pk),
    ),
    "ID tokens of sessions": SealedColumn(
        ProviderSession.objects.all,
        "sealed_id_token",
        lambda session: identity_providers.id_token_context(session.identity_id),
    ),
    "previous secrets of webhooks": SealedColumn(
        Webhook.objects.all, "sealed_previous", lambda webhook: webhooks.sealing_context(webhook.pk)
    ),
}
"""All columns sealed by data keys. A column missing here loses its secrets when keys are dropped."""


def rotate(files: Mapping[str, Path | None], at: datetime, *, restarted: bool = False) -> list[str]:
    """Activate the next keys, re-seal, and drop old keys; return the steps as lines.

    ``restarted``: all processes were restarted since the last rotation.

    Raises RotationTooEarly, RotationRefused.
    """
    with _Rings(files) as rings:
        due = [name for name, ring in rings.items() if restarted or is_announced(ring, at)]
        if not due:
            raise RotationTooEarly(
                "the next keys are less than a day old: a process that runs for longer would not know them. "
                "Restart every process and say --restarted; --finish ends a rotation that was interrupted"
            )
        for name in due:
            rings.replace(name, rotated(rings[name], at))
        return [*(f"{name}: {_names(rings[name])}" for name in due), *_finish(rings, at)]


def finish(files: Mapping[str, Path | None], at: datetime) -> list[str]:
    """Finish re-sealing and drop old keys; return the steps as lines. Raises RotationRefused."""
    with _Rings(files) as rings:
        return _finish(rings, at)


def replace_compromised(files: Mapping[str, Path | None], at: datetime) -> list[str]:
    """Replace all keys at once; return the steps as lines. Raises RotationRefused.

    Data keys are dropped once no row needs them, which is at once unless rows change all the time.
    """
    with _Rings(files) as rings:
        rings.replace(SESSIONS, new_ring(at))
        rings.replace(DATA, replaced(rings[DATA], at))
        lines, needed = _reseal_all(rings[DATA])
        rings.replace(DATA, pruned(rings[DATA], at, needed))
        return [*(f"{name}: {_names(ring)}" for name, ring in rings.items()), *lines]


def _finish(rings: "_Rings", at: datetime) -> list[str]:
    lines, needed = _reseal_all(rings[DATA])
    life = max(timedelta(hours=system_settings.current().session_hours), longest_session_life(at))
    retained = {
        SESSIONS: pruned(rings[SESSIONS], at - life - RESTART_GRACE),
        DATA: pruned(rings[DATA], at - RESTART_GRACE, needed),
    }
    for name, ring in retained.items():
        dropped = [key.kid for key in rings[name].keys if key not in ring.keys]
        if dropped:
            rings.replace(name, ring)
            lines.append(f"{name}: dropped {', '.join(dropped)}")
    return lines


def _reseal_all(ring: KeyRing) -> tuple[list[str], frozenset[str]]:
    sealer = Sealer(ring)
    results = {
        what: reseal(column.rows(), column.field, column.context, sealer) for what, column in SEALED_COLUMNS.items()
    }
    lines = [f"{what}: {_counts(result)}" for what, result in results.items()]
    return lines, frozenset().union(*(result.needed for result in results.values()))


def _counts(result: Resealed) -> str:
    words = [f"{result.done} re-sealed"]
    words += [f"{result.left} left, because they change: run --finish"] if result.left else []
    words += [f"{result.broken} that no key can decrypt"] if result.broken else []
    return ", ".join(words)


def _names(ring: KeyRing) -> str:
    in_use, following, *retired = [key.kid for key in ring.keys]
    return f"{in_use} is in use, {following} is next" + (f", retired: {', '.join(retired)}" if retired else "")


class _Rings:
    """The key rings of the files, under lock."""

    def __init__(self, files: Mapping[str, Path | None]) -> None:
        self._files = {name: _file_of(name, path) for name, path in files.items()}
        self._lock = ringfile.held(self._files.values())
        self._rings: dict[str, KeyRing] = {}

    def __enter__(self) -> Self:
        try:
            self._lock.__enter__()
        except ringfile.RotationRunning:
            raise RotationRefused("another rotation is running") from None
        except OSError as error:
            raise RotationRefused(f"the folder of the keys cannot be locked: {error.strerror}") from None
        self._rings = {name: _ring_of(name, path) for name, path in self._files.items()}
        return self

    def __exit__(self, *error: object) -> None:
        self._lock.__exit__(None, None, None)

    def __getitem__(self, name: str) -> KeyRing:
        return self._rings[name]

    def items(self) -> list[tuple[str, KeyRing]]:
        return list(self._rings.items())

    def replace(self, name: str, ring: KeyRing) -> None:
        try:
            ringfile.write(self._files[name], ring)
        except OSError as error:
            raise RotationRefused(f"{name}: {self._files[name]} cannot be written: {error.strerror}") from None
        self._rings[name] = ring


def _file_of(name: str, path: Path | None) -> Path:
    if path is None:
        raise RotationRefused(
            f"{name} is in the environment, where it cannot be changed: put it into a file and name that in {name}_FILE"
        )
    return path


def _ring_of(name: str, path: Path) -> KeyRing:
    try:
        ring, writable = ringfile.read(path), ringfile.is_writable(path)
    except (OSError, UnicodeDecodeError, KeyRingRefused):
        raise RotationRefused(f"{name}: {path} holds no key ring that can be read") from None
    if not writable:
        raise RotationRefused(f"{name}: {path} cannot be replaced by this user: run this where it is kept")
    return ring
