"""An installation of key files only, with a clock set by the test."""

import pkgutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from time_machine import Traveller

from gatewall.credentials import ringfile
from gatewall.credentials.keyring import KeyRing
from gatewall.credentials.rotation import new_ring
from gatewall.credentials.sessions import SessionVerifier
from tests.support.cast import AUDIENCE, ISSUER, a_session_token

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
NAMES = {"GATEWALL_JWT_KEYS": "jwt-keys", "GATEWALL_DATA_KEYS": "data-keys"}


class Killed(BaseException):
    """Simulates the end of the process."""


class Installation:
    """The key files of an installation, and its clock."""

    def __init__(self, folder: Path, clock: Traveller) -> None:
        self.folder = folder
        self.clock = clock
        folder.mkdir()
        for file in NAMES.values():
            (folder / file).write_text(new_ring(START).text())

    @property
    def sessions(self) -> KeyRing:
        return ringfile.read(self.folder / "jwt-keys")

    @property
    def data(self) -> KeyRing:
        return ringfile.read(self.folder / "data-keys")

    def rotate(self, *options: str, days: int = 0) -> None:
        self.clock.shift(days * DAY)
        call_command("rotate_keys", *options)


def signed(ring: KeyRing) -> str:
    return a_session_token(key=ring.signing)


def accepted(token: str, ring: KeyRing) -> bool:
    return SessionVerifier(ring, issuer=ISSUER, audience=AUDIENCE).verify(token) is not None


def kill_at_call(monkeypatch: pytest.MonkeyPatch, target: str, at: int) -> None:
    """Raise Killed at the n-th call of a function or method."""
    original = pkgutil.resolve_name(target)
    calls: list[str] = []

    def call(*args: Any, **kwargs: Any) -> Any:
        calls.append(target)
        if len(calls) == at:
            raise Killed
        return original(*args, **kwargs)

    monkeypatch.setattr(target, call)
