"""Decide a request by domains, scopes and access rules: slowly, obviously, and without the code of the gateway.

``decide(policy, request)`` takes the structures of ``shapes`` and gives a ``Decision``. It was written from the
documents alone, to compare the gateway with it. README.md in this folder lists where they left a choice.
"""

from dataclasses import dataclass

from tests.access_rules.conditions import (
    REQUEST_CONDITIONS,
    SUBJECT_CONDITIONS,
    Situation,
    Subject,
    has_subject_condition,
)
from tests.access_rules.paths import readings_of
from tests.access_rules.shapes import Domain, Policy, Request, Rule
from tests.access_rules.subjects import first_valid, may_enter, proved_enough

ACCESSES = ("public", "authenticated", "two_factor", "phishing_resistant", "denied")  # from lax to strict


@dataclass(frozen=True)
class Verdict:
    """What one rule is to one reading of a request.

    ``fails`` is the first condition that does not hold; the others are only set if all hold that can be judged.
    ``unseen`` is the first condition that needs what the proxy did not show, ``unproved`` the first that needs a
    subject while nobody is proved.
    """

    fails: str | None = None
    unseen: str | None = None
    unproved: str | None = None


@dataclass(frozen=True)
class Met:
    """What decides about one reading: a rule, or the access of the domain, which stands behind all rules."""

    access: str
    position: int
    rule: Rule | None = None
    unproved: bool = False

    @property
    def strictness(self) -> int:
        """Rank of the access. Nobody passes a rule that is unproved, so that it is never public."""
        return max(ACCESSES.index(self.access), int(self.unproved))

    @property
    def denies_all(self) -> bool:
        """True if no subject is asked for."""
        return self.access == "denied" and (self.rule is None or not has_subject_condition(self.rule))

    @property
    def order(self) -> tuple[int, bool, int]:
        """The greatest counts: the strictest, of equals the one that denies all, then the first."""
        return self.strictness, self.denies_all, -self.position


@dataclass(frozen=True)
class Decision:
    """The answer, and how it came about.

    ``rule`` is the name of the rule that counts, none where it is the access of the domain; at the reason
    ``client-rate-limited`` it is the rule whose rate it is, none for the rate of the settings. ``equals`` names what
    other readings meet that is as strict, ``rule`` besides. ``rates`` names the
    rules that count this request at step 8. ``trace`` has for each reading of the path a verdict for each rule.
    """

    status: int
    reason: str
    rule: str | None = None
    equals: tuple[str | None, ...] = ()
    rates: tuple[str, ...] = ()
    trace: tuple[tuple[str | None, tuple[Verdict, ...]], ...] = ()


def decide(policy: Policy, request: Request) -> Decision:
    """Answer ``request``: the first step that applies decides."""
    domain = domain_of(policy, request["host"])
    if domain is None and policy["settings"]["authorized_domains_mode"] == "registered":
        return Decision(403, "host-not-authorized")
    if domain is not None and domain["access"] == "denied":
        return Decision(403, "host-not-authorized")
    name = domain["name"] if domain else None
    subject = first_valid(policy, request)
    trace = []
    met = []
    for reading in (None,) if request["uri"] is None else readings_of(request["uri"]):
        situation = Situation(request, name, reading)
        verdicts = tuple(judge(rule, situation, subject) for rule in policy["rules"])
        trace.append((reading, verdicts))
        met += walk(policy["rules"], verdicts, domain)
    limiting = {each.position: each.rule["name"] for each in met if each.rule and each.rule["rate_per_minute"]}
    rates = tuple(limiting[position] for position in sorted(limiting))
    strictest = max(met, key=lambda each: each.order)
    equals = [each.rule["name"] if each.rule else None for each in met if each.order[:2] == strictest.order[:2]]
    status, reason, rule = answer(policy, request, name, subject, strictest, rates)
    return Decision(status, reason, rule, tuple(dict.fromkeys(equals)), rates, tuple(trace))


def domain_of(policy: Policy, host: str) -> Domain | None:
    """The registered domain of ``host``: the exact name, else the longest wildcard. ``*.x`` does not cover ``x``."""
    host = host.lower()
    covering = [domain for domain in policy["domains"] if _covers(domain["name"], host)]
    return max(covering, key=lambda domain: (domain["name"] == host, len(domain["name"])), default=None)


def _covers(name: str, host: str) -> bool:
    return host.endswith(name[1:]) if name.startswith("*.") else host == name


def judge(rule: Rule, situation: Situation, subject: Subject | None) -> Verdict:
    """Judge the conditions in order, up to the first that does not hold."""
    unseen = None
    for condition, holds in REQUEST_CONDITIONS.items():
        held = holds(rule, situation)
        if held is None:
            unseen = unseen or condition
        elif not held:
            return Verdict(fails=condition)
    if subject is None:
        asked = [condition for condition in SUBJECT_CONDITIONS if rule[condition]]  # type: ignore[literal-required]  # the keys are the table's
        return Verdict(unseen=unseen, unproved=asked[0] if asked else None)
    for condition, means in SUBJECT_CONDITIONS.items():
        if not means(rule, subject):
            return Verdict(fails=condition)
    return Verdict(unseen=unseen)


def walk(rules: list[Rule], verdicts: tuple[Verdict, ...], domain: Domain | None) -> list[Met]:
    """What one reading meets: the first rule that holds, else the domain's access.

    A rule before it that needs what the proxy did not show is met as well if it is stricter.
    """
    perhaps = []
    certain = Met(domain["access"] if domain else "authenticated", len(rules))
    for position, (rule, verdict) in enumerate(zip(rules, verdicts, strict=True)):
        if verdict.fails is not None:
            continue
        met = Met(rule["access"], position, rule, unproved=verdict.unproved is not None)
        if verdict.unseen is None:
            certain = met
            break
        perhaps.append(met)
    return [certain, *(met for met in perhaps if met.strictness > certain.strictness)]


def answer(
    policy: Policy, request: Request, domain: str | None, subject: Subject | None, met: Met, rates: tuple[str, ...]
) -> tuple[int, str, str | None]:
    """Status, reason and rule by the steps from 8 on."""
    rule = met.rule["name"] if met.rule else None
    if request["over_rate"] == "client" and policy["settings"]["request_rate_per_minute"]:
        return 403, "client-rate-limited", None
    if request["over_rate"] == "rule" and rates:
        return 403, "client-rate-limited", rates[0]
    if met.strictness == ACCESSES.index("public"):
        return 200, "path-public" if rule else "host-public", rule
    if met.denies_all:
        return 403, "access-denied", rule
    if subject is None:
        return 401, "credential-invalid" if request["credentials"] else "credential-missing", rule
    if not may_enter(policy, subject, domain):
        return 403, "host-not-in-scope", rule
    if met.access == "denied":
        return 403, "access-denied", rule
    if not proved_enough(policy, subject, domain, met.access):
        return 401, "second-factor-required" if met.access == "two_factor" else "phishing-resistant-required", rule
    return 200, f"{subject.kind}-valid", rule
