"""Who can enter a path: the engine's decision for everybody, each person, each group and each network. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gatewall.credentials.check import session_subject
from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.addresses import IPNetwork, NetworkTable
from gatewall.engine.auth_methods import AUTH_METHODS
from gatewall.engine.evaluate import evaluate
from gatewall.engine.facts import Facts
from gatewall.engine.groups import GroupState
from gatewall.engine.hosts import Access
from gatewall.engine.lists import IPLists
from gatewall.engine.model import AccessRequest, Credential, CredentialKind, DecidedBy, Effect, Reason, Subject
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import EnforcementMode, PolicySnapshot
from gatewall.engine.users import UserState

MAX_LISTED = 200
_NO_MEMBER = -1
_SESSION = Credential(CredentialKind.SESSION_COOKIE, "")


@dataclass(frozen=True, slots=True)
class Entry:
    """Answer to one kind of visitor who has proved every factor: the outcome, and the access level that is required.

    ``rule`` requires it; None: the domain does. ``id`` and ``name`` are those of the user or group; a network has only
    a ``name``.
    """

    id: int | None
    name: str
    effect: Effect
    reason: Reason
    access: Access
    rule: AccessRule | None
    decided_by: DecidedBy | None


@dataclass(frozen=True, slots=True)
class Entrants:
    """Who can enter: everybody without a credential, people by name, groups by name, and networks.

    ``left_out`` is the number of people beyond ``MAX_LISTED``. Groups and networks are cut at ``MAX_LISTED``, too.
    """

    domain: str | None
    everybody: Entry
    people: Sequence[Entry]
    left_out: int
    groups: Sequence[Entry]
    networks: Sequence[Entry]


def entrants(request: AccessRequest, policy: PolicySnapshot, ports: Ports, networks: Iterable[IPNetwork]) -> Entrants:
    """Return who can enter with this request; each of ``networks`` is also decided, without a credential.

    WAF rules, countries and request rates are ignored. IP lists count for the networks only.
    """
    settings = replace(
        policy.settings, waf_mode=EnforcementMode.OFF, geo_mode=EnforcementMode.OFF, request_rate_per_minute=0
    )
    with_lists = replace(policy, settings=settings)
    ordinary = replace(with_lists, lists=IPLists((), NetworkTable(())))
    anonymous, signed_in = replace(request, credentials=()), replace(request, credentials=(_SESSION,))
    active = sorted((user for user in policy.users.values() if user.is_active), key=lambda user: user.username.lower())
    groups = sorted(policy.groups.all(), key=lambda group: group.name)
    domain = policy.domains.match(request.host)
    return Entrants(
        domain.name if domain else None,
        _entry(None, "", anonymous, ordinary, ports),
        [_person(user, signed_in, ordinary, ports) for user in active[:MAX_LISTED]],
        max(0, len(active) - MAX_LISTED),
        [_member(group, signed_in, ordinary, ports) for group in groups[:MAX_LISTED]],
        [_from(network, anonymous, with_lists, ports) for network in sorted(set(networks), key=str)[:MAX_LISTED]],
    )


def _person(user: UserState, request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> Entry:
    subject = session_subject(user, policy, AUTH_METHODS)
    return _entry(user.id, user.username, request, policy, replace(ports, credentials=_FixedSubject(subject)))


def _member(group: GroupState, request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> Entry:
    """Return the answer to a user who is only in this group, and has no scope of their own."""
    member = UserState(
        id=_NO_MEMBER,
        username="",
        email="",
        is_admin=False,
        is_active=True,
        session_version=0,
        all_domains=False,
        domains=frozenset(),
        groups=frozenset({group.id}),
    )
    found = _person(member, request, policy, ports)
    return replace(found, id=group.id, name=group.name)


def _from(network: IPNetwork, request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> Entry:
    return _entry(None, str(network), replace(request, client=network.network_address), policy, ports)


def _entry(id_: int | None, name: str, request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> Entry:
    decision = evaluate(request, policy, ports)
    access = Facts(request, policy, ports).access
    return Entry(id_, name, decision.effect, decision.reason, access.level, access.rule, decision.verdict.decided_by)


@dataclass(frozen=True, slots=True)
class _FixedSubject:
    """Credential check that accepts every credential for one subject."""

    subject: Subject | None

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        return self.subject
