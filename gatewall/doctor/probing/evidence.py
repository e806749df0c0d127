"""Evidence of a probe: the visitor's response and the gate's access record. Pure."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from gatewall.doctor.probing.probes import PLAIN, Probe
from gatewall.doctor.probing.target import Target
from gatewall.engine.addresses import IPNetwork

SHOWN_HEADERS = (
    "location",
    "www-authenticate",
    "x-gatewall-decision-id",
    "x-gatewall-reason",
    "cache-control",
    "age",
    "server",
    "via",
)
"""What is kept of the headers of an answer, in small letters. Of its body nothing is."""
_VERSION = 7  # RFC 9562


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a probe, or why there is none. ``from_address``: where the doctor's connection came from."""

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    from_address: str = ""
    failure: str = ""

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    @property
    def decision_id(self) -> str:
        """Return the number of the decision, empty where there is none. What a site makes up does not look like one."""
        text = self.header("x-gatewall-decision-id")
        try:
            return text if uuid.UUID(text).version == _VERSION else ""
        except ValueError:
            return ""


@dataclass(frozen=True, slots=True)
class Arrival:
    """What the gate recorded of a probe."""

    decision_id: str
    client: str
    host: str | None
    method: str
    scheme: str
    path: str
    query: str
    status: int
    reason: str
    visible: frozenset[str]
    subject_kind: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A probe, its answer, and its record if there is one."""

    probe: Probe
    reply: Reply
    arrival: Arrival | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known after an examination. ``untrusted``: peers that forward and are not trusted, seen lately."""

    target: Target
    seen: Mapping[str, Seen]
    root_path: str
    kind: str | None = None
    trusted: tuple[IPNetwork, ...] = ()
    untrusted: tuple[str, ...] = ()

    @property
    def plain(self) -> Seen:
        return self.seen[PLAIN]

    @property
    def base(self) -> Arrival:
        """The record of the plain probe. Raises LookupError if there is none."""
        if self.plain.arrival is None:
            raise LookupError("the gate has not seen the plain probe")
        return self.plain.arrival
