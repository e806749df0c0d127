"""Attack detectors: signals in, verdicts out. Pure; bounded memory.

| Signal | Details |
|---|---|
| failed sign-in | the account |
| request refused by WAF rules | the path and the rules |
| malformed request | the path |
| request for a host that is not authorized | the host |

Missing credentials are not a signal: a page with forty images, opened without a session, would cause forty. Refusals of
an already blocked client are not signals either. Refused requests count by *different* targets and rules: a false
positive refuses the same page repeatedly, or all its images. Rules that always match together (on a cookie) count as
one kind.

IPv6 clients are counted by /64, one subscriber. A verdict discards the signals it is based on.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_network
from typing import TypeVar

from gatewall.engine.addresses import IPAddress, IPNetwork

MAX_NETWORKS = 10_000
"""Networks with state; the least recently seen are evicted."""
MAX_ACCOUNTS = 20_000
FEW_ACCOUNTS = 3
"""More accounts than one user mistypes; enough for a verdict during a distributed attack."""
_MIN_KINDS = 2
_MIN_TARGETS = 3
_REPORT_SECONDS = 30.0
"""How often an ongoing attack is reported, so that its incident does not end."""


Key = TypeVar("Key")


class Detector(StrEnum):
    """Kinds of detected attacks."""

    BRUTE_FORCE = "brute-force"
    STUFFING = "credential-stuffing"
    PATH_PROBING = "path-probing"
    RULE_PROBING = "rule-probing"
    DISTRIBUTED_STUFFING = "distributed-stuffing"


@dataclass(frozen=True, slots=True)
class Limits:
    """Detection thresholds within the time window: the settings of the same names."""

    window_seconds: float = 600
    brute_force_failures: int = 20
    stuffing_accounts: int = 10
    stuffing_accounts_overall: int = 100
    probing_targets: int = 20
    probing_rules: int = 5


@dataclass(frozen=True, slots=True)
class FailedSignIn:
    """A failed sign-in at this time (seconds since the epoch); ``account`` identifies the account."""

    at: float
    client: IPAddress
    account: str


@dataclass(frozen=True, slots=True)
class Probe:
    """A refused request: target, blocking WAF ``rules``, and ``kinds``: one for all rules, the host or the fault."""

    at: float
    client: IPAddress
    target: str
    kinds: frozenset[str]
    rules: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Verdict:
    """An attack by a network, last seen from ``client``, or a distributed one (None), from ``first_at`` to ``at``."""

    detector: Detector
    network: IPNetwork | None
    client: IPAddress | None
    first_at: float
    at: float
    figures: Mapping[str, int]


@dataclass(slots=True)
class _Seen:
    """Signals of one network, each with the time it was last seen. Every collection is bounded by its limit."""

    failures: deque[float] = field(default_factory=deque)
    accounts: OrderedDict[str, float] = field(default_factory=OrderedDict)
    targets: OrderedDict[int, float] = field(default_factory=OrderedDict)
    kinds: OrderedDict[str, float] = field(default_factory=OrderedDict)
    rules: OrderedDict[int, float] = field(default_factory=OrderedDict)


class Detectors:
    """Turns signals into verdicts. Not thread-safe."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._networks: OrderedDict[IPNetwork, _Seen] = OrderedDict()
        self._accounts: OrderedDict[str, float] = OrderedDict()
        self._is_attacked = False
        self._reported_at = 0.0

    def __len__(self) -> int:
        return len(self._networks)

    def failed_sign_in(self, signal: FailedSignIn) -> list[Verdict]:
        network = network_of(signal.client)
        seen, since = self._seen(network), signal.at - self.limits.window_seconds
        while seen.failures and seen.failures[-1] > signal.at + self.limits.window_seconds:
            seen.failures.pop()
        seen.failures.append(signal.at)
        while seen.failures[0] <= since or len(seen.failures) > self.limits.brute_force_failures:
            seen.failures.popleft()
        _record(seen.accounts, signal.account, signal.at, since, self.limits.stuffing_accounts)
        return [*self._distributed_attack(signal, since), *self._sign_in_verdicts(network, seen, signal)]

    def probe(self, signal: Probe) -> list[Verdict]:
        network = network_of(signal.client)
        seen, since = self._seen(network), signal.at - self.limits.window_seconds
        _record(seen.targets, hash(signal.target), signal.at, since, self.limits.probing_targets)
        for kind in sorted(signal.kinds):
            _record(seen.kinds, kind, signal.at, since, _MIN_KINDS)
        for rule in sorted(signal.rules):
            _record(seen.rules, rule, signal.at, since, self.limits.probing_rules)
        figures = {"targets": len(seen.targets), "rules": len(seen.rules)}
        if len(seen.kinds) < _MIN_KINDS:
            return []
        if len(seen.rules) >= self.limits.probing_rules and len(seen.targets) >= _MIN_TARGETS:
            return [self._verdict(Detector.RULE_PROBING, network, signal, seen.rules.values(), figures)]
        if len(seen.targets) >= self.limits.probing_targets:
            return [self._verdict(Detector.PATH_PROBING, network, signal, seen.targets.values(), figures)]
        return []

    def _sign_in_verdicts(self, network: IPNetwork, seen: _Seen, signal: FailedSignIn) -> list[Verdict]:
        figures = {"failures": len(seen.failures), "accounts": len(seen.accounts)}
        if len(seen.accounts) >= (FEW_ACCOUNTS if self._is_attacked else self.limits.stuffing_accounts):
            return [self._verdict(Detector.STUFFING, network, signal, seen.accounts.values(), figures)]
        if len(seen.failures) >= self.limits.brute_force_failures:
            return [self._verdict(Detector.BRUTE_FORCE, network, signal, seen.failures, figures)]
        return []

    def _distributed_attack(self, signal: FailedSignIn, since: float) -> list[Verdict]:
        """Return the verdict on a distributed attack; when it begins, also verdicts on its known participants."""
        _record(self._accounts, signal.account, signal.at, since, MAX_ACCOUNTS)
        number, enough = len(self._accounts), self.limits.stuffing_accounts_overall
        was_attacked = self._is_attacked
        self._is_attacked = number >= (enough // 2 if was_attacked else enough)  # hysteresis
        if not self._is_attacked or (was_attacked and abs(signal.at - self._reported_at) < _REPORT_SECONDS):
            return []
        self._reported_at = signal.at
        first_at = next(iter(self._accounts.values()))
        attack = Verdict(Detector.DISTRIBUTED_STUFFING, None, None, first_at, signal.at, {"accounts": number})
        return [attack] if was_attacked else [attack, *self._participants(signal, since)]

    def _participants(self, signal: FailedSignIn, since: float) -> list[Verdict]:
        verdicts, until = [], signal.at + self.limits.window_seconds
        for network, seen in list(self._networks.items()):
            accounts = [at for at in seen.accounts.values() if since < at <= until]
            if len(accounts) >= FEW_ACCOUNTS and network != network_of(signal.client):
                figures = {"failures": len(seen.failures), "accounts": len(accounts)}
                verdict = Verdict(
                    Detector.STUFFING, network, network.network_address, min(accounts), max(accounts), figures
                )
                del self._networks[network]
                verdicts.append(verdict)
        return verdicts

    def _seen(self, network: IPNetwork) -> _Seen:
        seen = self._networks.setdefault(network, _Seen())
        self._networks.move_to_end(network)
        if len(self._networks) > MAX_NETWORKS:
            self._networks.popitem(last=False)
        return seen

    def _verdict(
        self,
        detector: Detector,
        network: IPNetwork,
        signal: FailedSignIn | Probe,
        moments: Iterable[float],
        figures: Mapping[str, int],
    ) -> Verdict:
        del self._networks[network]
        return Verdict(detector, network, signal.client, min(moments), signal.at, figures)


def network_of(client: IPAddress) -> IPNetwork:
    """Return the network that one attacker controls: an IPv4 address, or the /64 of an IPv6 address."""
    prefix = client.max_prefixlen if client.version == 4 else 64
    return ip_network((client, prefix), strict=False)


def _record(seen: OrderedDict[Key, float], key: Key, at: float, since: float, most: int) -> None:
    """Record a key as seen, and evict entries before the window or over the limit.

    Entries more than a window in the future are evicted too: the clock was set back.
    """
    while seen and next(reversed(seen.values())) > at + (at - since):
        seen.popitem()
    seen[key] = max(at, seen.get(key, at))
    seen.move_to_end(key)
    while len(seen) > most or (seen and next(iter(seen.values())) <= since):
        seen.popitem(last=False)
