"""Second factors for tests: an authenticator app written from RFC 6238, independent of the product."""

import hashlib
import hmac
import time
from base64 import b32decode
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib import import_module
from typing import Any

STEP = 30


def code_of_step(secret: bytes, step: int) -> str:
    """Return the HOTP code (RFC 4226 section 5.3), 6 digits."""
    digest = hmac.new(secret, step.to_bytes(8, "big"), hashlib.sha1).digest()
    start = digest[-1] & 0xF
    return f"{(int.from_bytes(digest[start : start + 4], 'big') & 0x7FFF_FFFF) % 1_000_000:06d}"


@dataclass
class App:
    """A user's authenticator app and recovery codes."""

    secret: bytes
    recovery_codes: list[str] = field(default_factory=list)

    def code(self, *, steps: int = 0, at: float | None = None) -> str:
        """Return the current code, or the one of a later step of 30 seconds."""
        return code_of_step(self.secret, int((time.time() if at is None else at) // STEP) + steps)

    def wrong_codes(self, count: int) -> list[str]:
        """Return codes that are not valid at any time of this hour."""
        shown = {self.code(steps=steps) for steps in range(-60, 120)}
        return [code for number in range(count * 2 + 400) if (code := f"{number:06d}") not in shown][:count]

    @property
    def wrong(self) -> str:
        return self.wrong_codes(1)[0]


def an_app(user: Any) -> App:
    """Enable a user's second factor, some time ago, so that the current code is unused."""
    totp, timezone = import_module("accounts.sign_in.totp"), import_module("django.utils.timezone")
    at: datetime = timezone.now() - timedelta(minutes=5)
    app = App(secret_of(totp.begin_setup(user, at=at).secret))
    app.recovery_codes = totp.confirm_setup(user, app.code(at=at.timestamp()), at=at)
    return app


def secret_of(base32: str) -> bytes:
    """Return the secret that an app decodes from the base32 text."""
    return b32decode(base32 + "=" * (-len(base32) % 8))
