"""Throttle guessing of passwords and codes (RFC 4226 section 7.3, NIST SP 800-63B section 5.2.2).

Failures are counted in the database, which all processes and hosts share and no reload forgets, for
these keys: the account from one network, the network and those around it, and the account from anywhere. An attempt is
counted before it is looked at and given back if it was none, so that a thousand at once get no more
tries than one after the other.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

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
"""Networks around the one that is counted first, by IP version: bits left out, and how many times its failures."""
FOREIGN = frozenset({ACCOUNT, "code", *_WIDER[4], *_WIDER[6]})
"""Scopes of which others may have used up the attempts."""
_PRUNED_AT_ONCE = 1000
_SALT = "accounts.throttling"


class TooManyAttempts(TooMany):
    """Sign-in failed too often here; ``scopes`` says whose count it was."""

    code = "too-many-attempts"
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limit:
    """How many failures within a window pass without delay, and the first delay, which then doubles."""

    failures: int
    window: timedelta
    first_delay: timedelta


@dataclass(frozen=True, slots=True)
class Count:
    """The failures of one key, and until when it has to wait."""

    failures: int
    began_at: datetime
    blocked_until: datetime | None = None

    def seconds_to_wait(self, at: datetime) -> int:
        """Return the whole seconds, rounded up, until the next attempt; 0 if it may be made now."""
        return seconds_until(self.blocked_until, at)

    def with_one_more(self, limit: Limit, at: datetime) -> "Count":
        """Return the count after an attempt at this moment, which begins a new window where the old one is over."""
        over = (self.blocked_until or self.began_at) + limit.window <= at
        failures, began_at = (1, at) if over else (self.failures + 1, self.began_at)
        return Count(failures, began_at, blocked_until(failures, limit, at))

    def without(self, attempt: "Counted", limit: Limit) -> "Count":
        """Return the count without an attempt that was no failure, and without the delay that it began."""
        failures = max(0, self.failures - 1)
        blocked_until = attempt.before if self.blocked_until == attempt.blocked_until else self.blocked_until
        return replace(self, failures=failures, blocked_until=blocked_until if failures >= limit.failures else None)


@dataclass(frozen=True, slots=True)
class Counted:
    """What an attempt changed under one key: until when it was blocked before, and until when since."""

    key: str
    before: datetime | None
    blocked_until: datetime | None


def seconds_until(moment: datetime | None, at: datetime) -> int:
    """Return the whole seconds, rounded up, until a delay ends; 0 if there is none."""
    return max(0, math.ceil((moment - at).total_seconds())) if moment else 0


def blocked_until(failures: int, limit: Limit, at: datetime) -> datetime | None:
    """Return until when the next attempt must wait after so many failures, the last of them now; None for no delay."""
    if failures < limit.failures:
        return None
    doublings = min(failures - limit.failures, 32)
    return at + min(LONGEST_DELAY, limit.first_delay * (1 << doublings))


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that was counted as a failure, until somebody says that it was none."""

    counted: dict[str, Counted]

    def was_no_failure(self) -> None:
        """Take it back: the password was right, and the sign-in goes on."""
        _take_back(self.counted)

    @contextmanager
    def unless_too_busy(self) -> Iterator[None]:
        """Take it back where TooBusy is raised: nobody has looked at the password."""
        try:
            yield
        except TooBusy:
            self.was_no_failure()
            raise

    def succeeded(self) -> None:
        """Take it back and forget the failures of this account from this network."""
        _take_back(self.counted, forgotten=_PAIR)


def attempt(username: str, client_ip: str, at: datetime, *, is_at_home: bool = False) -> Attempt:
    """Count an attempt to sign in before it is looked at. Raises TooManyAttempts, and counts nothing then.

    Too many failures from all over the world, or from networks around, do not keep an account's owner out of a
    network where they have signed in within the last 30 days, nor out of where they are ``is_at_home`` anyway.
    """
    keys, limits = _keys(username, client_ip), _limits()
    counted: dict[str, Counted] = {}

    def count(rows: dict[str, FailureCount]) -> None:
        waits = {scope: _value(row).seconds_to_wait(at) for scope, row in rows.items()}
        is_foreign_work = any(waits.values()) and not (waits[_PAIR] or waits[_NETWORK])
        if is_foreign_work and (is_at_home or _is_at_home(username, client_ip, at)):
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
    """Delete counts that mean nothing any more, at most 1,000 of them; return how many."""
    _follow_the_clock(at)
    window = _limits()[_PAIR].window
    old = FailureCount.objects.filter(began_at__lte=at - window)
    old = old.filter(Q(blocked_until=None) | Q(blocked_until__lte=at - window))
    with transaction.atomic():
        # A row that somebody is counting in is not waited for: they may wait for one that is held here.
        free = old.select_for_update(skip_locked=True).order_by("pk").values_list("pk", flat=True)
        return FailureCount.objects.filter(pk__in=list(free[:_PRUNED_AT_ONCE])).delete()[0]


def _follow_the_clock(at: datetime) -> None:
    """Clamp counters if the clock moved back."""
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


def _is_at_home(username: str, client_ip: str, at: datetime) -> bool:
    """True if the user of this name has signed in from this network lately."""
    network = _network(client_ip)
    return any(_network(address) == network for address in selectors.recent_addresses(username, at))


@transaction.atomic
def _change(
    keys: dict[str, str], change: Callable[[dict[str, FailureCount]], None], *, at: datetime | None = None
) -> None:
    """Change the rows of these keys while nobody else does. Rows that are not there are made at ``at``."""
    if at is not None:
        # The update changes nothing and holds the row that is there, which somebody else could delete.
        # Always in one order, here and below, so that two who need the same rows never wait for each other.
        rows = [FailureCount(scope=scope, key=key, began_at=at) for scope, key in sorted(keys.items())]
        FailureCount.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["scope", "key"], update_fields=["scope"]
        )
    locked = FailureCount.objects.select_for_update().filter(_which(keys)).order_by("scope", "key")
    found = {row.scope: row for row in locked}
    change(found)
    FailureCount.objects.bulk_update(found.values(), ["failures", "began_at", "blocked_until"])


def _which(keys: dict[str, str]) -> Q:
    chosen = Q()
    for scope, key in keys.items():
        chosen |= Q(scope=scope, key=key)
    return chosen


def _keys(username: str, client_ip: str) -> dict[str, str]:
    """Return what to count under: keyed digests, because people type passwords into a name field.

    The key is derived from ``GATEWALL_SECRET_KEY``, so that all processes and hosts count together.
    """
    account, network = username.casefold(), _network(client_ip)
    texts = {ACCOUNT: account, _PAIR: f"{network} {account}", _NETWORK: network, **_wider(client_ip)}
    return {scope: _digest(text) for scope, text in texts.items()}


def _network(client_ip: str) -> str:
    """Return what one attacker holds: an IPv4 address, or the /64 of an IPv6 one."""
    address = parse_address(client_ip)
    return client_ip if address is None or address.version == 4 else f"{int(address) >> 64:x}"


def _digest(text: str) -> str:
    return salted_hmac(_SALT, text.encode("utf-8", "replace"), algorithm="sha256").hexdigest()


def _wider(client_ip: str) -> dict[str, str]:
    """Return the networks around an address, each with a scope of its own."""
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
