"""Suggest access rules for client programs that were refused for lack of a credential. Pure.

A program that cannot show a sign-in page sends the same first word of a user agent to many paths. The suggested rules
open exactly these paths, with ids generalized, and each suggestion lists what else it would have let in.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gatewall.engine.access_rules.paths import compiled
from gatewall.engine.access_rules.rules import PathMatch, PathPattern
from gatewall.engine.access_rules.table import trimmed_readings
from gatewall.replay.path_groups import without_ids

LEAST_REQUESTS = 10
LEAST_PATHS = 3
"""Fewer requests or paths are no evidence of a program."""
MAX_PATHS = 100
MAX_EXAMPLES = 5
_MAX_SIBLINGS = 7
"""If paths that differ in one segment only have more values there than this, the segment becomes a wildcard."""
_BROWSER = "Mozilla/"


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A recorded request that was refused for lack of a credential; ``path`` as it was sent.

    ``rule_path``: the path as a rule writes it, None if none can.
    """

    decision_id: str
    at: float
    client: str
    method: str
    path: str
    rule_path: str | None
    user_agent: str

    @property
    def program(self) -> str:
        """The first product of the user agent without its version; empty for browsers and without one."""
        agent = self.user_agent
        return "" if agent.startswith(_BROWSER) else agent.split("/", 1)[0].split(" ", 1)[0][:64]


@dataclass(frozen=True, slots=True)
class SuggestedRule:
    """Paths and methods that a rule would open."""

    methods: tuple[str, ...]
    paths: tuple[PathPattern, ...]


@dataclass(slots=True)
class Requests:
    """Requests of one program: their number, clients, first and last time, and the newest as examples."""

    program: str
    number: int = 0
    clients: set[str] = field(default_factory=set)
    first_at: float = 0.0
    last_at: float = 0.0
    examples: list[str] = field(default_factory=list)

    def add(self, request: RefusedRequest) -> None:
        """Count a request; call with the newest first."""
        self.last_at = self.last_at or request.at
        self.first_at = request.at
        self.number += 1
        self.clients.add(request.client)
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(request.decision_id)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Rules for one program: the requests as evidence, how many of these they miss, and what else they would let in.

    ``others`` are requests of other programs, the most frequent first; a browser's program is empty.
    """

    rules: tuple[SuggestedRule, ...]
    evidence: Requests
    missed: int
    others: tuple[Requests, ...]


def suggestions(requests: Sequence[RefusedRequest]) -> list[Suggestion]:
    """Return suggestions for the programs among these requests, newest first; most requests first."""
    by_program: defaultdict[str, list[RefusedRequest]] = defaultdict(list)
    for request in requests:
        by_program[request.program].append(request)
    found = [
        _suggestion(program, own, requests)
        for program, own in by_program.items()
        if program
        and len(own) >= LEAST_REQUESTS
        and len({request.rule_path for request in own} - {None}) >= LEAST_PATHS
    ]
    return sorted(found, key=lambda each: (-each.evidence.number, each.evidence.program))


def _suggestion(program: str, own: Sequence[RefusedRequest], requests: Iterable[RefusedRequest]) -> Suggestion:
    rules = _rules(own)
    evidence, missed = Requests(program), 0
    others: dict[str, Requests] = {}
    covers = _Cover(rules)
    for request in requests:
        is_covered = covers(request)
        if request.program == program:
            evidence.add(request)
            missed += not is_covered
        elif is_covered:
            others.setdefault(request.program, Requests(request.program)).add(request)
    ordered = sorted(others.values(), key=lambda each: (-each.number, each.program))
    return Suggestion(rules, evidence, missed, tuple(ordered))


class _Cover:
    """Tests whether rules cover a request: they must match every reading of its path, as in a decision."""

    def __init__(self, rules: Iterable[SuggestedRule]) -> None:
        self._rules = [(rule.methods, [compiled(pattern) for pattern in rule.paths]) for rule in rules]
        self._known: dict[tuple[str, str], bool] = {}

    def __call__(self, request: RefusedRequest) -> bool:
        key = request.method, request.path
        if key not in self._known:
            readings = trimmed_readings(request.path)
            self._known[key] = readings is not None and all(self._covers(request.method, path) for path in readings)
        return self._known[key]

    def _covers(self, method: str, path: str) -> bool:
        return any(
            method in methods and any(matches(path) for matches in patterns) for methods, patterns in self._rules
        )


def _rules(requests: Iterable[RefusedRequest]) -> tuple[SuggestedRule, ...]:
    """Return the fewest rules for these requests: one for all paths that were requested with the same methods."""
    methods: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for request in requests:
        if request.rule_path is not None:
            methods[without_ids(request.rule_path)].add(request.method)
    by_methods: defaultdict[tuple[str, ...], list[PathPattern]] = defaultdict(list)
    for segments, used in _without_siblings(methods).items():
        value = "/" + "/".join(segments)
        pattern = PathPattern(PathMatch.GLOB if "*" in segments else PathMatch.EXACT, value)
        by_methods[tuple(sorted(used))].append(pattern)
    return tuple(
        SuggestedRule(used, tuple(sorted(patterns, key=lambda each: each.value)[:MAX_PATHS]))
        for used, patterns in sorted(by_methods.items())
    )


def _without_siblings(methods: dict[tuple[str, ...], set[str]]) -> dict[tuple[str, ...], set[str]]:
    """Join paths that differ in one segment only (not the first) if that segment has many values."""
    longest = max(map(len, methods), default=0)
    for place in range(longest - 1, 0, -1):
        alike: defaultdict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
        for segments in methods:
            if len(segments) > place:
                alike[(*segments[:place], "*", *segments[place + 1 :])].append(segments)
        joined: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for segments, used in methods.items():
            shape = (*segments[:place], "*", *segments[place + 1 :]) if len(segments) > place else segments
            many = len(alike.get(shape, ())) > _MAX_SIBLINGS
            joined[shape if many else segments] |= used
        methods = joined
    return methods
