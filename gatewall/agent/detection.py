"""Feed the detectors with shipped records and failed sign-ins, and act on their verdicts.

State is in memory; after a restart only the failed sign-ins of the last window are replayed from the database.
Signals that led to a ban do not lead to another one.
"""

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.utils import timezone

from accounts.sign_in import throttling
from audit.event_kinds import EventKind
from audit.events import selectors
from audit.events.recording import Event, count_event
from audit.models import SecurityEvent
from audit.spool.records import AccessRecord
from gatewall.engine.addresses import parse_address
from gatewall.engine.model import Action, Reason
from gatewall.engine.snapshot import EnforcementMode
from gatewall.kernel.clientip import TrustedProxies
from gatewall.kernel.detectors import Detectors, FailedSignIn, Limits, Probe, Verdict
from gatewall.models import SystemSettings
from gatewall.policy import revisions, system_settings
from policies.bans import banning
from policies.bans.banning import NotBanned, Offense

logger = logging.getLogger(__name__)

_EVERY = timedelta(seconds=1)
_LATE = timedelta(minutes=3)
"""Overlap of scans, for rows of other hosts with slower clocks and for counts updated within their minute."""
_TOO_LATE = timedelta(minutes=15)
_OTHER_CLOCK = timedelta(hours=1)
"""Rows further in the future were written before the clock was set back."""
_SAME_ATTACK = timedelta(seconds=30)
_EVENT_SECONDS = 3600
_MOST_VERDICTS = 10_000
_VERDICTS_AT_ONCE = 1_000
"""A ban locks the policy head while it checks earlier bans."""
_SIGNALS = frozenset({Reason.WAF_RULE.value, Reason.REQUEST_MALFORMED.value, Reason.HOST_NOT_AUTHORIZED.value})
"""Reasons of the requests that detectors count."""
_Judged = tuple[Verdict, NotBanned | None]
"""A verdict and, if it is known already that it leads to no ban, why."""


class AttackDetection:
    """Attack detection of one agent. ``observe()`` never raises; ``turn()`` raises django.db.Error."""

    def __init__(self, trusted: TrustedProxies) -> None:
        self._trusted = trusted
        self._detectors = Detectors(Limits())
        self._page_detectors = Detectors(Limits())
        """Requests that web pages made browsers send: reported, but never a reason for a ban."""
        self._signed_in_detectors = Detectors(Limits())
        """Requests with a valid credential that WAF rules refused: also reported only."""
        self._verdicts: list[_Judged] = []
        self._counted: dict[int, tuple[int, int]] = {}
        """By row of failed sign-ins, how many of its count and of its marks were given to the detectors."""
        self._settled = 0
        self._scanned_at: datetime | None = None
        self._skipped = False
        self._has_news = True

    def observe(self, record: AccessRecord) -> None:
        """Feed a shipped access record to the detectors."""
        probe = probe_of(record)
        if probe is None:
            return
        if record.made_by_page:
            self._keep(self._page_detectors.probe(probe), NotBanned.MADE_BY_PAGE)
        elif record.reason == Reason.WAF_RULE and record.subject is not None:
            self._keep(self._signed_in_detectors.probe(probe), NotBanned.SIGNED_IN)
        else:
            self._keep(self._detectors.probe(probe))

    @property
    def is_behind(self) -> bool:
        """True if the next turn has something to do even if nothing new happens."""
        return bool(self._verdicts) or self._skipped

    def turn(self, at: datetime, *, has_news: bool = True) -> None:
        """Once a second: feed recent failed sign-ins to the detectors, and ban the detected clients.

        ``has_news``: whether sign-ins or settings in the database may have changed since the last turn.
        """
        self._has_news |= has_news
        is_due = self._has_news or bool(self._verdicts)
        self._skipped = is_due and self._scanned_at is not None and abs(at - self._scanned_at) < _EVERY
        if self._skipped or not is_due:
            return
        settings = system_settings.current()
        limits = _limits(settings)
        for detectors in (self._detectors, self._page_detectors, self._signed_in_detectors):
            detectors.limits = limits
        self._scan_sign_ins(at)
        self._scanned_at, self._has_news = at, False
        if settings.auto_ban_mode == EnforcementMode.OFF:
            self._verdicts = []
        # Retried in the next turn on an error; already recorded bans are not repeated.
        self._act(self._verdicts[:_VERDICTS_AT_ONCE], at, settings)
        self._verdicts = self._verdicts[_VERDICTS_AT_ONCE:]

    def _scan_sign_ins(self, at: datetime) -> None:
        rows = selectors.failed_sign_ins(self._since(at))
        for row in rows:
            if row.pk in self._counted or row.pk > self._settled:  # each row once, also if the clock is set back
                self._scan_row(row)
        kept = {row.pk for row in rows}
        self._settled = max([self._settled, *(key for key in self._counted if key not in kept)])
        self._counted = {key: numbers for key, numbers in self._counted.items() if key in kept}

    def _since(self, at: datetime) -> datetime:
        """Return the start of the scan: the last scan minus an overlap, within the window."""
        window = timedelta(seconds=self._detectors.limits.window_seconds)
        if self._scanned_at is None:
            return at - window
        return max(min(at, self._scanned_at) - _LATE, at - max(window, _LATE))

    def _scan_row(self, row: SecurityEvent) -> None:
        counted, marked = self._counted.get(row.pk, (0, 0))
        new, marks = row.count - counted, row.marks[marked:] or row.marks[-1:]
        self._counted[row.pk] = row.count, len(row.marks)
        client = parse_address(row.client_ip or "")
        if client is None or not _is_signal(row):
            return
        for number in range(min(new, max(self._detectors.limits.brute_force_failures, len(marks)))):
            account = str(row.user_id or (marks[min(number, len(marks) - 1)] if marks else ""))
            self._keep(self._detectors.failed_sign_in(FailedSignIn(row.last_at.timestamp(), client, account)))

    def _act(self, verdicts: Sequence[_Judged], at: datetime, settings: SystemSettings) -> None:
        if not verdicts:
            return
        protection = banning.Protection(self._trusted, at)
        offenses = []
        for verdict, known in verdicts:
            offense = _offense(verdict)
            if offense is None:
                _record_attack(verdict)
            elif (why := known or protection.of(offense) or _why_not_banned(offense, at, settings)) is not None:
                banning.suspect(offense, why)
            else:
                offenses.append(offense)
        if offenses:
            banned = banning.ban(offenses, until=at + timedelta(minutes=settings.auto_ban_minutes))
            logger.info("agent: %d networks are banned", len(banned))

    def _keep(self, verdicts: list[Verdict], why: NotBanned | None = None) -> None:
        if verdicts:
            self._verdicts = [*self._verdicts, *((verdict, why) for verdict in verdicts)][-_MOST_VERDICTS:]


def probe_of(record: AccessRecord) -> Probe | None:
    """Return the signal in an access record, or None."""
    if record.reason not in _SIGNALS:  # first: parsing an address costs more than the rest
        return None
    client = parse_address(record.client_ip)
    if client is None:
        return None
    if record.reason == Reason.WAF_RULE:
        rules = frozenset(int(rule["id"]) for rule in record.rules if rule.get("action") == Action.BLOCK)
        # All rules of a request count as one kind: a cookie can trip several with every image.
        kinds = frozenset({f"rules:{sorted(rules)}"})
        return Probe(record.at, client, f"{record.host} {record.path}", kinds, rules)
    if record.reason == Reason.REQUEST_MALFORMED:
        return Probe(record.at, client, f"malformed {record.path}", frozenset({"malformed"}))
    host = f"host:{record.host}"  # without the path: one page of an unregistered host makes many requests
    return Probe(record.at, client, host, frozenset({host}))


def _is_signal(row: SecurityEvent) -> bool:
    """False for a correct password, and for lockouts of an account caused by other clients' failures."""
    scopes = row.detail.get("scopes", ())
    is_caused_by_others = bool(scopes) and throttling.FOREIGN.issuperset(scopes)
    return row.detail.get("why") != "admin-required" and not is_caused_by_others


def _offense(verdict: Verdict) -> Offense | None:
    if verdict.network is None or verdict.client is None:
        return None
    first, last = (datetime.fromtimestamp(at, UTC) for at in (verdict.first_at, verdict.at))
    return Offense(verdict.network, verdict.client, verdict.detector, first, last, verdict.figures)


@revisions.one_at_a_time
def _record_attack(verdict: Verdict) -> None:
    at = datetime.fromtimestamp(verdict.at, UTC)
    since = datetime.fromtimestamp(verdict.first_at, UTC)
    until = timezone.now() + _OTHER_CLOCK
    known = SecurityEvent.objects.filter(kind=EventKind.ATTACK_DETECTED, last_at__gte=since, last_at__lte=until)
    if known.filter(last_at__gt=at - _SAME_ATTACK).exists():
        return  # another host's agent, or this one before a restart, has reported it
    event = Event(EventKind.ATTACK_DETECTED, at, detail={"detector": verdict.detector.value, **verdict.figures})
    count_event(event, verdict.detector.value, period=_EVENT_SECONDS)


def _why_not_banned(offense: Offense, at: datetime, settings: SystemSettings) -> NotBanned | None:
    if at - offense.at > _TOO_LATE:
        return NotBanned.TOO_LATE  # shipped after a long outage: the address may have a new user by now
    return NotBanned.MONITOR if settings.auto_ban_mode == EnforcementMode.MONITOR else None


def _limits(settings: SystemSettings) -> Limits:
    return Limits(
        window_seconds=60 * settings.detector_window_minutes,
        brute_force_failures=settings.brute_force_failures,
        stuffing_accounts=settings.stuffing_accounts,
        stuffing_accounts_overall=settings.stuffing_accounts_overall,
        probing_targets=settings.probing_targets,
        probing_rules=settings.probing_rules,
    )
