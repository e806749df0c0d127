"""Throttle guessing of passwords and codes (RFC 4226 section 7.3, NIST SP 800-63B section 5.2.2).

Failures are counted in the database, across processes and hosts, per account and network, per network and its
supernets, and per account. An attempt is counted before it is checked, so parallel guesses get no more tries.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce
from operator import or_

from django.db import transaction
from django.db.models import Q
from django.utils.crypto import salted_hmac

from accounts import selectors
from accounts.hashers import TooBusy
from accounts.models import FailureCount
from gatewall.engine.addresses import parse_address
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import TooMany
from gatewall.models import SystemSettings
from gatewall.policy import system_settings

LONGEST_DELAY = timedelta(hours=1)
ACCOUNT = "account"
_PAIR, _NETWORK = "pair", "network"
_WIDER: dict[int, dict[str, tuple[int, int]]] = {
    4: {"network-24": (8, 4)},  # strangers share it
    6: {"network-56": (72, 1), "network-48": (80, 1)},  # one subscriber or one site (RFC 6177)
}
"""Supernets that are counted too, by IP version: bits to shift out, and the factor of the network's failure limit."""
FOREIGN = frozenset({ACCOUNT, "code", *_WIDER[4], *_WIDER[6]})
"""Scopes that other clients can exhaust."""
_PRUNED_AT_ONCE = 1000
_SALT = "accounts.sign_in.throttling"


class TooManyAttempts(TooMany):
    """Too many failed sign-ins; ``scopes`` are the exceeded counts."""

    code = "too-many-attempts"
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """Number of failures within a window that causes the first delay, and that delay, which then doubles."""

    failures: int
    window: timedelta
    first_delay: timedelta


@dataclass(frozen=True, slots=True)
class Count:
    """Failures of one key, and until when it is blocked."""

    failures: int
    began_at: datetime
    blocked_until: datetime | None = None

    def seconds_to_wait(self, at: datetime) -> int:
        return seconds_until(self.blocked_until, at)

    def with_one_more(self, limit: Limit, at: datetime) -> "Count":
        """Return the count after another failure, which starts a new window if the old one is over."""
        over = (self.blocked_until or self.began_at) + limit.window <= at
        failures, began_at = (1, at) if over else (self.failures + 1, self.began_at)
        return Count(failures, began_at, blocked_until(failures, limit, at))

    def without(self, attempt: "Counted", limit: Limit) -> "Count":
        """Return the count without an attempt that did not fail, and without the delay that it caused."""
        failures = max(0, self.failures - 1)
        blocked_until = attempt.before if self.blocked_until == attempt.blocked_until else self.blocked_until
        return replace(self, failures=failures, blocked_until=blocked_until if failures >= limit.failures else None)


@dataclass(frozen=True, slots=True)
class Counted:
    """Change by an attempt under one key: the end of the delay before and after it."""

    key: str
    before: datetime | None
    blocked_until: datetime | None


def seconds_until(moment: datetime | None, at: datetime) -> int:
    """Return the whole seconds, rounded up, until a delay ends; 0 without one."""
    return max(0, math.ceil((moment - at).total_seconds())) if moment else 0


def blocked_until(failures: int, limit: Limit, at: datetime) -> datetime | None:
    """Return the end of the delay after this many failures, the last of them now; None without delay."""
    if failures < limit.failures:
        return None
    doublings = min(failures - limit.failures, 32)
    return at + min(LONGEST_DELAY, limit.first_delay * (1 << doublings))


@dataclass(frozen=True, slots=True)
class Attempt:
    """Attempt that is counted as a failure until it is uncounted."""

    counted: dict[str, Counted]

    def uncount(self) -> None:
        _take_back(self.counted)

    @contextmanager
    def uncounted_if_too_busy(self) -> Iterator[None]:
        """Uncount the attempt on TooBusy: the password was not checked."""
        try:
            yield
        except TooBusy:
            self.uncount()
            raise

    def succeeded(self) -> None:
        """Uncount the attempt and reset the failures of this account from this network."""
        _take_back(self.counted, forgotten=_PAIR)


def attempt(username: str, client_ip: str, at: datetime, *, is_local: bool = False) -> Attempt:
    """Count a sign-in attempt before it is checked. Raises TooManyAttempts, without counting.

    Failures from elsewhere do not lock an account's owner out of a network where they have signed in within the last 30
    days, nor out of this machine (``is_local``).
    """
    keys, limits = _keys(username, client_ip), _limits()
    counted: dict[str, Counted] = {}

    def count(rows: dict[str, FailureCount]) -> None:
        waits = {scope: _value(row).seconds_to_wait(at) for scope, row in rows.items()}
        is_caused_by_others = any(waits.values()) and not (waits[_PAIR] or waits[_NETWORK])
        if is_caused_by_others and (is_local or _is_familiar_network(username, client_ip, at)):
            waits = {}
        if longest := max(waits.values(), default=0):
            refusal = TooManyAttempts(_("too many failed attempts: wait before the next"), retry_after_seconds=longest)
            refusal.scopes = tuple(sorted(scope for scope, wait in waits.items() if wait))
            raise refusal
        for scope, row in rows.items():
            before, after = _value(row), _value(row).with_one_more(limits[scope], at)
            counted[scope] = Counted(row.key, before.blocked_until, after.blocked_until)
            _set(row, after)

    _change(keys, count, at=at)
    return Attempt(counted)


def prune(at: datetime) -> int:
    """Delete expired counts, at most 1,000; return how many."""
    _clamp_to_clock(at)
    window = _limits()[_PAIR].window
    old = FailureCount.objects.filter(began_at__lte=at - window)
    old = old.filter(Q(blocked_until=None) | Q(blocked_until__lte=at - window))
    with transaction.atomic():
        # Skip locked rows instead of waiting: the other transaction may wait for a row locked here (deadlock).
        free = old.select_for_update(skip_locked=True).order_by("pk").values_list("pk", flat=True)
        return FailureCount.objects.filter(pk__in=list(free[:_PRUNED_AT_ONCE])).delete()[0]


def _clamp_to_clock(at: datetime) -> None:
    longest = at + LONGEST_DELAY
    FailureCount.objects.filter(blocked_until__gt=longest).update(blocked_until=longest)
    FailureCount.objects.filter(began_at__gt=at).update(began_at=at)


def _take_back(counted: dict[str, Counted], *, forgotten: str = "") -> None:
    limits = _limits()

    def give_back(rows: dict[str, FailureCount]) -> None:
        for scope, row in rows.items():
            count = _value(row).without(counted[scope], limits[scope])
            _set(row, replace(count, failures=0, blocked_until=None) if scope == forgotten else count)

    _change({scope: each.key for scope, each in counted.items()}, give_back)


def _is_familiar_network(username: str, client_ip: str, at: datetime) -> bool:
    """Return whether the user has signed in from this network within the last 30 days."""
    network = _network(client_ip)
    return any(_network(address) == network for address in selectors.recent_addresses(username, at))


@transaction.atomic
def _change(
    keys: dict[str, str], change: Callable[[dict[str, FailureCount]], None], *, at: datetime | None = None
) -> None:
    """Change the rows of these keys under row locks; create missing ones if ``at`` is given."""
    if at is not None:
        # The no-op update locks existing rows, so that no other transaction deletes them. Rows are locked in one order,
        # here and below, to avoid deadlocks.
        rows = [FailureCount(scope=scope, key=key, began_at=at) for scope, key in sorted(keys.items())]
        FailureCount.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["scope", "key"], update_fields=["scope"]
        )
    chosen = reduce(or_, (Q(scope=scope, key=key) for scope, key in keys.items()))
    locked = FailureCount.objects.select_for_update().filter(chosen).order_by("scope", "key")
    found = {row.scope: row for row in locked}
    change(found)
    # Every row exists and is locked. ``bulk_update`` would build a CASE for each column, which takes more CPU time.
    FailureCount.objects.bulk_create(
        found.values(),
        update_conflicts=True,
        unique_fields=["pk"],
        update_fields=["failures", "began_at", "blocked_until"],
    )


def _keys(username: str, client_ip: str) -> dict[str, str]:
    """Return the keys to count under, as keyed digests, because people type passwords into the name field.

    The digest key is derived from ``GATEWALL_SECRET_KEY``, so that all processes and hosts share the counts.
    """
    account, network = username.casefold(), _network(client_ip)
    texts = {ACCOUNT: account, _PAIR: f"{network} {account}", _NETWORK: network, **_wider(client_ip)}
    return {scope: _digest(text) for scope, text in texts.items()}


def _network(client_ip: str) -> str:
    """Return the network of one client: an IPv4 address, or the /64 of an IPv6 address."""
    address = parse_address(client_ip)
    return client_ip if address is None or address.version == 4 else f"{int(address) >> 64:x}"


def _digest(text: str) -> str:
    return salted_hmac(_SALT, text.encode("utf-8", "replace"), algorithm="sha256").hexdigest()


def _wider(client_ip: str) -> dict[str, str]:
    """Return the supernets of an address, by scope."""
    address = parse_address(client_ip)
    wider = {} if address is None else _WIDER[address.version]
    return {scope: f"{int(address or 0) >> bits:x}" for scope, (bits, _times) in wider.items()}


def _limits() -> dict[str, Limit]:
    settings: SystemSettings = system_settings.current()
    window = timedelta(minutes=settings.login_failure_window_minutes)
    delay = timedelta(seconds=settings.login_delay_seconds)
    failures = {
        ACCOUNT: settings.login_failures_per_account,
        _PAIR: settings.login_failures_per_account_and_network,
        _NETWORK: settings.login_failures_per_network,
    }
    for wider in _WIDER.values():
        failures |= {scope: times * failures[_NETWORK] for scope, (_bits, times) in wider.items()}
    return {scope: Limit(number, window, delay) for scope, number in failures.items()}


def _value(row: FailureCount) -> Count:
    return Count(row.failures, row.began_at, row.blocked_until)


def _set(row: FailureCount, count: Count) -> None:
    row.failures, row.began_at, row.blocked_until = count.failures, count.began_at, count.blocked_until
