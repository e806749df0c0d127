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
"""Response headers to keep, in lower case. Bodies are not kept."""
_VERSION = 7  # RFC 9562


@dataclass(frozen=True, slots=True)
class Reply:
    """The response to a probe, or why there is none.

    ``from_address`` and ``to_address``: the ends of the connection, empty if there was none.
    """

    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    from_address: str = ""
    to_address: str = ""
    failure: str = ""

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

    @property
    def decision_id(self) -> str:
        """The decision id, or "" if it is missing or not a UUID of version 7."""
        text = self.header("x-gatewall-decision-id")
        try:
            return text if uuid.UUID(text).version == _VERSION else ""
        except ValueError:
            return ""


@dataclass(frozen=True, slots=True)
class Arrival:
    """The gate's access record of a probe."""

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
    """A probe, its response, and its record if there is one."""

    probe: Probe
    reply: Reply
    arrival: Arrival | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Evidence of an examination. ``untrusted``: recent peers that forward but are not trusted."""

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
        """The record of the plain probe. Raises LookupError."""
        if self.plain.arrival is None:
            raise LookupError("the gate has not seen the plain probe")
        return self.plain.arrival
