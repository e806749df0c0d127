"""Proposed exemptions for a refused request (offers): their kinds, lifetimes and contents. No I/O."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from gatewall.engine.waf.exclusions import Exclusion
from gatewall.kernel.refusals import Conflict


class NotOffered(Conflict):
    """The decision has changed since the exemption was proposed."""

    code = "not-offered"


class Lifetime(StrEnum):
    """Duration of an exemption; only exclusions of WAF rules may have no end."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"
    ENDLESS = "endless"
    EIGHT_HOURS = "eight-hours"
    WEEK = "week"

    def end(self, at: datetime) -> datetime | None:
        """Return the end of an exemption that begins at this time, None if it has no end."""
        days = {"hour": 1 / 24, "eight-hours": 8 / 24, "day": 1.0, "week": 7.0, "month": 30.0}.get(self.value)
        return at.replace(microsecond=0) + timedelta(days=days) if days else None


class Kind(StrEnum):
    """The kinds of change that an exemption makes."""

    EXCLUSION = "exclusion"
    EXCLUSIONS = "exclusions"
    ALLOW = "allow"
    UNBLOCK = "unblock"
    REGISTER = "register"
    GRANT = "grant"


@dataclass(frozen=True, slots=True)
class Offer:
    """A proposed exemption: ``row`` is the id of the rule or entry it changes, if any, ``name`` the row's name.

    ``domain``: the only domain that it applies to, None: all hosts; ``inspect``: WAF rules still apply to the allowed
    client; ``together``: exclusions of several rules, made at once. A grant has the user's id and name, and its path
    prefix as ``path``, None: every path of the domain.
    """

    kind: Kind
    name: str
    row: int = 0
    domain: str | None = None
    exclusions: tuple[Exclusion, ...] = ()
    inspect: bool = False
    together: tuple["Offer", ...] = ()
    path: str | None = None

    @property
    def key(self) -> str:
        """Return a key that identifies the offer, and changes with its content."""
        name = f"{self.kind}-{self.row}" if self.row else self.kind.value
        return f"{name}-{hashlib.sha256(repr(self).encode()).hexdigest()[:16]}"

    @property
    def may_be_permanent(self) -> bool:
        """True if it may be permanent: a site needs WAF exclusions for as long as it runs the same program."""
        return self.kind in {Kind.EXCLUSION, Kind.EXCLUSIONS}

    @property
    def expires(self) -> bool:
        return self.kind in {Kind.EXCLUSION, Kind.EXCLUSIONS, Kind.ALLOW, Kind.GRANT}
