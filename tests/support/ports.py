"""Fakes of the engine's ports: countries and request rates with one answer, and ports that fail."""

from dataclasses import dataclass, field
from typing import Any

from gatewall.engine.addresses import IPAddress


@dataclass
class Countries:
    """A country lookup with one answer for all addresses."""

    code: str | None = None

    asn: int | None = None

    def country_of(self, address: IPAddress) -> str | None:
        return self.code

    def asn_of(self, address: IPAddress) -> int | None:
        return self.asn


@dataclass
class Rates:
    """A request rate that is exceeded by a fixed number of seconds, and counts its calls."""

    over: int = 0
    asked: int = 0

    def seconds_over(self, client: IPAddress, limit_per_minute: int, at: float, rule_id: int | None = None) -> int:
        self.asked += 1
        return self.over


@dataclass
class Broken:
    """All ports in one object, each of which raises."""

    error: BaseException = field(default_factory=lambda: RuntimeError("broken port"))

    def _fail(self, *_: object) -> Any:
        raise self.error

    country_of = asn_of = subject_of = seconds_over = _fail
