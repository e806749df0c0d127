"""Ports of the engine: countries, credentials, request rates. No port may raise for bad input."""

from dataclasses import dataclass
from typing import Protocol

from gatewall.engine.addresses import IPAddress
from gatewall.engine.model import Credential, Subject
from gatewall.engine.snapshot import PolicySnapshot


class CountryLookup(Protocol):
    """Looks up the country and the autonomous system of an address."""

    def country_of(self, address: IPAddress) -> str | None:
        """Return the ISO 3166-1 alpha-2 code, or None if unknown."""

    def asn_of(self, address: IPAddress) -> int | None:
        """Return the autonomous system number, or None if unknown."""


class CredentialCheck(Protocol):
    """Authenticates credentials."""

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        """Return the subject of a credential that is valid now under this policy, or None."""


class RequestRate(Protocol):
    """Counts the requests of each client, and separately those of each client under an access rule."""

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        """Count a request; return 0 within the limit, else the seconds until the limit is met again.

        With ``rule_id``, the limit and the count are those of this access rule.
        """


@dataclass(frozen=True, slots=True)
class Ports:
    """Adapters of one process."""

    countries: CountryLookup
    credentials: CredentialCheck
    rates: RequestRate
