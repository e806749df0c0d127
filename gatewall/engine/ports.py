"""What the engine asks of the outside. Every answer is a value; no port may raise for bad input."""

from dataclasses import dataclass
from typing import Protocol

from gatewall.engine.addresses import IPAddress
from gatewall.engine.model import Credential, Subject
from gatewall.engine.snapshot import PolicySnapshot


class CountryLookup(Protocol):
    """Knows in which country an address is."""

    def country_of(self, address: IPAddress) -> str | None:
        """Return the ISO 3166-1 alpha-2 code, or None when it is not known."""


class CredentialCheck(Protocol):
    """Knows who a credential proves."""

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        """Return the subject that the credential proves at this moment under this policy, or None."""


class RequestRate(Protocol):
    """Counts the requests of each client."""

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float) -> int:
        """Count this request; return 0 within the limit, else the seconds until it is met again."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The adapters that one process decides with."""

    countries: CountryLookup
    credentials: CredentialCheck
    rates: RequestRate
