"""Prefilter of a backtest: find the recorded requests that a change of policy can affect. Pure.

Most changes affect few requests: those of a host, a network or a person. A request whose facts are equal under both
policies gets the same answer under both, whatever its record lacks, and need not be decided twice. The facts are those
of ``engine/facts.py``: the domain, the list entry and country of the client, WAF rules, access rules, the subject and
the limits of request rates, and the grants of a user and their groups. If the facts may differ, the request counts as
affected.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import lru_cache

from audit.spool.records import AccessRecord
from gatewall.engine.addresses import parse_address
from gatewall.engine.grants import Grant
from gatewall.engine.hosts import Host
from gatewall.engine.model import Reason, Subject, SubjectKind
from gatewall.engine.ports import CountryLookup
from gatewall.engine.snapshot import BlockedCountry, EnforcementMode, PolicySettings, PolicySnapshot, UnknownCountry
from gatewall.kernel.changes import Resource
from gatewall.replay.change_history import ChangeHistory
from gatewall.replay.changed_rules import ChangedRules
from gatewall.replay.recorded_waf import is_whole
from gatewall.replay.redecision import CHECKED, CREDENTIAL_KINDS, allowlist_applies, recorded_request

_CACHE_SIZE = 65_536
"""Maximum number of hosts, clients and requests whose result is cached."""
_ALWAYS_COVERED = frozenset({Reason.CANNOT_DECIDE.value, Reason.REQUEST_MALFORMED.value})
_OF_FEW = {"authorized_domains_mode", "geo_mode", "unknown_country"}
_OF_RECORDS = {"audit_mode", "log_query_strings", "signed_identity"}
_GLOBAL_SETTINGS = tuple(each.name for each in fields(PolicySettings) if each.name not in _OF_FEW | _OF_RECORDS)
"""Settings that affect every request: all except those compared for each request, and those that decide nothing."""
_SUBJECTS = ("groups", "users", "git_tokens", "app_tokens", "licenses", "share_links")
_LOOKED_AT = {"settings", "lists", "domains", "blocked_countries", "waf", "access_rules", "grants", "device_passes"}
_NO_CHANGE = {"version", "revoked_sessions", "identity"}
"""Parts that differ between two policies even without a change, and revoked sessions: no draft revokes any."""
_OTHER_TABLES = tuple(
    each.name for each in fields(PolicySnapshot) if each.name not in {*_LOOKED_AT, *_NO_CHANGE, *_SUBJECTS}
)
"""Tables that no method below compares: a change of one may affect any request."""
_RATES = (Resource.ACCESS_RULES, Resource.DOMAINS, Resource.USERS)


@dataclass(frozen=True, slots=True)
class _Site:
    """A host whose domain and access rules are equal under both policies; ``name`` is that of its domain, if any."""

    name: str | None
    has_rates: bool


class ChangeReach:
    """Finds the recorded requests that the change from one policy to another can affect; caches in bounded memory."""

    def __init__(
        self,
        before: PolicySnapshot,
        after: PolicySnapshot,
        *,
        rules: ChangedRules,
        histories: tuple[ChangeHistory, ChangeHistory],
        countries: CountryLookup,
        subjects: tuple[Callable[[AccessRecord], Subject | None], Callable[[AccessRecord], Subject | None]],
        at: float,
    ) -> None:
        """``rules``: the WAF rules that differ. ``subjects``: functions that find a record's subject by each policy."""
        self._before, self._after, self._at = before, after, at
        self._rules, self._histories, self._countries, self._subjects = rules, histories, countries, subjects
        self._affects_all = any(
            getattr(before.settings, name) != getattr(after.settings, name) for name in _GLOBAL_SETTINGS
        ) or any(getattr(before, name) != getattr(after, name) for name in _OTHER_TABLES)
        self._subjects_differ = subjects_differ(before, after)
        self._grants_differ = before.grants != after.grants
        self._passes_differ = before.device_passes != after.device_passes
        self._lists_differ = before.lists is not after.lists
        self._has_waf = bool(rules.ids) and before.settings.waf_mode is not EnforcementMode.OFF
        self._site = lru_cache(_CACHE_SIZE)(self._site_of)
        self._client = lru_cache(_CACHE_SIZE)(self._client_is_same)
        self._rates = lru_cache(_CACHE_SIZE)(self._rates_are_as_of)
        self._known_subjects: dict[tuple[object, ...], bool] = {}
        self._known_requests: dict[tuple[object, ...], bool] = {}

    def covers(self, record: AccessRecord) -> bool:
        """Return False only if both policies certainly give the same answer to the request."""
        if self._affects_all or record.reason in _ALWAYS_COVERED:
            return True
        if record.credential is not None and record.credential["kind"] not in CREDENTIAL_KINDS:
            return True
        site = self._site(record.host)
        if site is None or not self._client(record.client_ip, site.name, allowlist_applies(record)):
            return True
        if site.has_rates and not self._rates(record.policy_revision):
            return True
        if self._subjects_differ and not self._subject_is_same(record):
            return True
        if self._passes_differ and (record.subject or {}).get("kind", SubjectKind.DEVICE) == SubjectKind.DEVICE:
            return True
        if self._grants_differ and not self._grants_are_same(record):
            return True
        return self._has_waf and self._rules_may_match(record, site.name)

    def _site_of(self, name: str | None) -> _Site | None:
        """Return the host if its domain and access rules are equal under both policies, None if not or if masked."""
        before, after = self._before, self._after
        host = Host(name) if name else None
        domain = before.domains.match(host)
        if not is_whole(name or "", 0) or domain != after.domains.match(host):
            return None
        if domain is None and before.settings.authorized_domains_mode != after.settings.authorized_domains_mode:
            return None
        domain_name = domain.name if domain else None
        rules = before.access_rules.of_domain(domain_name)
        if rules != after.access_rules.of_domain(domain_name):
            return None
        has_rates = bool(before.settings.request_rate_per_minute) or any(rule.rate_per_minute for rule in rules)
        return _Site(domain_name, has_rates)

    def _client_is_same(self, text: str, domain: str | None, allowed: bool) -> bool:  # noqa: FBT001 - cached
        """True if the IP lists and the country rules of both policies treat the client alike."""
        client = parse_address(text)
        if client is None:
            return False
        if self._lists_differ:
            before, after = (
                policy.lists.standing(client, domain, self._at, allowlist_applies=allowed)
                for policy in (self._before, self._after)
            )
            if before != after:
                return False
        code = self._countries.country_of(client)
        return _country_rule(self._before, code) == _country_rule(self._after, code)

    def _rates_are_as_of(self, revision: int) -> bool:
        """True if recorded results of rate limits are usable under both policies, or under neither."""
        before, after = self._histories
        name = "request_rate_per_minute"
        if before.setting_is_as_of(revision, name) != after.setting_is_as_of(revision, name):
            return False
        return all(
            before.resource_is_as_of(revision, each) == after.resource_is_as_of(revision, each) for each in _RATES
        )

    def _subject_is_same(self, record: AccessRecord) -> bool:
        credential, who = record.credential, record.subject or {}
        if credential is None:
            return True
        if credential.get("state") not in CHECKED:
            return False
        key = who.get("kind"), who.get("id"), *credential.get("amr", ())
        same = self._known_subjects.get(key)
        if same is None:
            before, after = (find(record) for find in self._subjects)
            same = _keep(self._known_subjects, key, before == after)
        return same

    def _grants_are_same(self, record: AccessRecord) -> bool:
        """True if the recorded user has the same grants under both policies."""
        who = record.subject or {}
        if who.get("kind") != SubjectKind.USER:
            return record.credential is None or bool(who)
        return _grants_of(who["id"], self._before) == _grants_of(who["id"], self._after)

    def _rules_may_match(self, record: AccessRecord, domain: str | None) -> bool:
        if self._rules.were_recorded(record):
            return True
        key = record.method, record.host, record.path, record.query, record.user_agent, *record.visible
        may = self._known_requests.get(key)
        if may is None:
            request = recorded_request(record, self._at)
            may = request is None or self._rules.may_match(record, request, domain)
            may = _keep(self._known_requests, key, may)
        return may


def subjects_differ(before: PolicySnapshot, after: PolicySnapshot) -> bool:
    """True if any user, group, token, license or share link differs."""
    return any(getattr(before, name) != getattr(after, name) for name in _SUBJECTS)


def _grants_of(user_id: int, policy: PolicySnapshot) -> tuple[Grant, ...]:
    """Return the grants of a user and their groups under a policy."""
    state = policy.users.get(user_id)
    return policy.grants.of_user(user_id, state.groups if state else frozenset())


def _country_rule(policy: PolicySnapshot, code: str | None) -> BlockedCountry | UnknownCountry | None:
    """Return the policy's rule for a country, None if there is none; for an unknown country, its setting."""
    if policy.settings.geo_mode is not EnforcementMode.BLOCK:
        return None
    return policy.settings.unknown_country if code is None else policy.blocked_countries.get(code)


def _keep(known: dict[tuple[object, ...], bool], key: tuple[object, ...], value: bool) -> bool:  # noqa: FBT001
    if len(known) >= _CACHE_SIZE:
        known.clear()
    known[key] = value
    return value
