"""Values that passkey ceremonies take and return."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MAX_LENGTH = 16_384
"""Maximum length of an answer in JSON, in characters; without attestation it has about 1,500."""


@dataclass(frozen=True, slots=True)
class KnownPasskey:
    """A registered passkey, for options: its id in base64url and how the browser reaches it."""

    credential_id: str
    transports: Sequence[str]


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """A verified registration. Id and key in base64url."""

    credential_id: str
    public_key: str
    sign_count: int
    transports: list[str]
    backup_eligible: bool
    backed_up: bool


@dataclass(frozen=True, slots=True)
class Assertion:
    """The answer to a sign-in, parsed and not yet verified. Id and user handle in base64url."""

    credential: Any
    credential_id: str
    user_handle: str | None
    challenge: bytes


@dataclass(frozen=True, slots=True)
class Verified:
    """A verified sign-in: the authenticator's counter, and whether the passkey is backed up."""

    sign_count: int
    backed_up: bool
