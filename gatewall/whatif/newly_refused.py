"""Find the people in the access log whom a change refuses at hosts that let them in before. Read-only."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from audit.models import AccessLog
from audit.spool.records import AccessRecord
from audit.spool.rows import record_of_row
from gatewall.engine.model import Effect, SubjectKind
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.gate.countries import Countries
from gatewall.kernel.env import Config
from gatewall.models import RefusalWatch
from gatewall.replay.missing import Missing
from gatewall.replay.redecision import Redecider, Replay
from gatewall.whatif.as_of import policy_as_of
from gatewall.whatif.change_histories import changes_between

SPAN = timedelta(days=7)
"""People who were let in within this time before the change are watched."""
_OVERLAP = timedelta(seconds=60)
"""How far reads overlap, because records arrive late."""
_MAX_KNOWN = 200_000
_MAX_JUDGED = 100_000
_MAX_PEOPLE = 1_000
_NOT_REACHED = frozenset({Missing.WAF_RULES, Missing.REQUEST_RATE, Missing.CREDENTIAL})
"""Facts that a record lacks if an earlier step refused the request, such as the blocklist."""
_TRIES = 20
"""Maximum number of replayed refusals per host, client, subject, reason and deciding row."""


@dataclass(slots=True)
class _LetIn:
    """People who were let in: their names, their hosts, and who used each address and program."""

    names: dict[int, str] = field(default_factory=dict)
    hosts: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    programs: defaultdict[tuple[str, str], set[int]] = field(default_factory=lambda: defaultdict(set))

    def people_of(self, row: dict[str, Any]) -> set[int]:
        """Return the people of a refusal who were let in to its host: its user or, if unknown, those of its program."""
        if row["subject_kind"] is not None:
            people = {row["subject_id"]} if row["subject_kind"] == SubjectKind.USER else set()
        else:
            people = self.programs.get((row["client_ip"], row["user_agent"]), set())
        return {person for person in people if row["host"] in self.hosts.get(person, ())}


class NewlyRefused:
    """The people found so far for one watch."""

    def __init__(self, watch: RefusalWatch, config: Config) -> None:
        self._watch, self._countries = watch, Countries.of(config)
        self._let_in: _LetIn | None = None
        self._people: dict[int, dict[str, Any]] = {}
        self._tried: defaultdict[tuple[Any, ...], int] = defaultdict(int)
        self._judged: set[Any] = set()
        self._policies: dict[int, PolicySnapshot] = {}
        self._read_until: datetime = watch.made_at

    def read(self, *, whole: bool) -> list[dict[str, Any]]:
        """Read the refusals since the last call (``whole``: since the change); return the newly refused people by id.

        Each has ``id``, ``name``, ``host`` and the ``decision_id`` of a refusal. Raises Gone, CannotRestore.
        """
        if self._let_in is None:
            self._let_in = self._read_let_in()
        since = self._watch.made_at if whole else max(self._watch.made_at, self._read_until - _OVERLAP)
        for row in self._refusals(since):
            self._read_until = max(self._read_until, row["at"])
            self._judge(row, self._let_in)
        return [self._people[person] for person in sorted(self._people)]

    def _read_let_in(self) -> _LetIn:
        known = _LetIn()
        begin, end = self._watch.made_at - SPAN, self._watch.made_at
        rows = AccessLog.objects.filter(
            at__gte=begin, at__lt=end, outcome=Effect.ALLOW.value, subject_kind=SubjectKind.USER.value
        ).order_by()
        columns = ("subject_id", "subject_name", "host", "client_ip", "user_agent")
        for person, name, host, client, agent in rows.values_list(*columns).distinct()[:_MAX_KNOWN].iterator():
            known.names[person] = name
            known.hosts[person].add(host)
            known.programs[client, agent].add(person)
        return known

    def _refusals(self, since: datetime) -> Iterator[dict[str, Any]]:
        rows: QuerySet[AccessLog, dict[str, Any]] = (
            AccessLog.objects.filter(at__gte=since, at__lt=self._watch.until)
            .filter(policy_revision__gte=self._watch.revision)
            .exclude(outcome=Effect.ALLOW.value)
            .order_by("at", "decision_id")
            .values(
                *("decision_id", "at", "host", "client_ip", "user_agent", "reason"),
                *("subject_kind", "subject_id", "decided_by_kind", "decided_by_id"),
            )
        )
        yield from rows.iterator(chunk_size=2_000)

    def _judge(self, row: dict[str, Any], let_in: _LetIn) -> None:
        people = {person for person in let_in.people_of(row) if person not in self._people}
        if not people or row["decision_id"] in self._judged or len(self._judged) >= _MAX_JUDGED:
            return
        key = tuple(row[name] for name in ("host", "client_ip", "subject_id", "reason", "decided_by_id"))
        if self._tried[key] >= _TRIES:
            return
        stored = AccessLog.objects.filter(pk=row["decision_id"]).first()
        is_refused = stored is not None and self._is_refused_by_the_change(record_of_row(stored))
        self._tried[key] += 1
        self._judged.add(row["decision_id"])
        if not is_refused:
            return
        for person in sorted(people)[: _MAX_PEOPLE - len(self._people)]:
            self._people[person] = {
                "id": person,
                "name": let_in.names[person],
                "host": row["host"],
                "decision_id": str(row["decision_id"]),
            }

    def _is_refused_by_the_change(self, record: AccessRecord) -> bool:
        after = self._replay(record, self._watch.revision).decision()
        if after.verdict is None or after.verdict.effect is Effect.ALLOW:
            return False
        return _passes(self._replay(record, self._watch.previous), record)

    def _replay(self, record: AccessRecord, number: int) -> Replay:
        history = changes_between(record.policy_revision, number)
        if number not in self._policies:  # the cache of ``as_of`` is cleared whenever somebody signs out
            self._policies[number] = policy_as_of(number).policy
        decider = Redecider(self._policies[number], countries=self._countries, history=history, at=record.at)
        return decider.replay(record)


def _passes(replay: Replay, record: AccessRecord) -> bool:
    """True if the replay lets the request in; a step that the recorded request did not reach counts as passed."""
    for verdict, missing in replay.results():
        if verdict is not None:
            return verdict.effect is Effect.ALLOW
        if missing is None:
            continue
        if record.subject is not None or missing not in _NOT_REACHED:
            return False
        if missing is Missing.CREDENTIAL:
            return True  # they were let in with their credential
    return False
