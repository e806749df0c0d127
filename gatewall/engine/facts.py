"""Facts of one request under one policy, each computed when a step first needs it. No I/O."""

from collections.abc import Mapping, Sequence

from gatewall.engine.access_rules.rules import AccessRule
from gatewall.engine.access_rules.table import AccessOutcome
from gatewall.engine.access_rules.trace import TracedReading, trace_of
from gatewall.engine.destinations import path_readings_of
from gatewall.engine.expiry import is_live
from gatewall.engine.grants import Grant
from gatewall.engine.hosts import Access, Domain
from gatewall.engine.lists import Standing
from gatewall.engine.model import AccessRequest, Action, CredentialKind, Subject, SubjectKind
from gatewall.engine.ports import Ports
from gatewall.engine.rule_match import RuleMatch
from gatewall.engine.snapshot import EnforcementMode, PolicySnapshot
from gatewall.engine.values import lazy, value
from gatewall.engine.waf.rules import WafRule


@value
class OverRate:
    """A client over a request rate: seconds until the rate is met, and the access rule, None for the system setting."""

    seconds: int
    rule: AccessRule | None = None


class Facts:
    """Lazy facts: the request, the policy, and what follows from both."""

    _places: Mapping[int, tuple[str, str | None]] = {}
    """Where each rule matched, by rule id, if known."""

    def __init__(self, request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> None:
        self.request = request
        self.policy = policy
        self._ports = ports

    def know(self, *, subject: Subject | None, country_code: str | None) -> None:
        """Set facts that are known from an earlier request."""
        self.__dict__.update(subject=subject, country_code=country_code)

    @lazy
    def domain(self) -> Domain | None:
        """The registered domain of the host, or None."""
        return self.policy.domains.match(self.request.host)

    @property
    def domain_name(self) -> str | None:
        return self.domain.name if self.domain else None

    @lazy
    def standing(self) -> Standing:
        """The entry of the IP lists that applies to the client at this host."""
        request = self.request
        return self.policy.lists.standing(
            request.client, self.domain_name, request.at, allowlist_applies=request.allowlist_applies
        )

    @lazy
    def country_code(self) -> str | None:
        """The client's country code, or None if unknown."""
        return self._ports.countries.country_of(self.request.client)

    @lazy
    def asn(self) -> int | None:
        """The client's autonomous system number, or None if unknown."""
        return self._ports.countries.asn_of(self.request.client)

    @property
    def waf_mode(self) -> EnforcementMode:
        """The mode of the WAF for this request: ``monitor`` instead of ``block`` while its domain is monitored."""
        mode, domain = self.policy.settings.waf_mode, self.domain
        until = domain.waf_monitor_until if domain else None
        if mode is EnforcementMode.BLOCK and until is not None and is_live(until, self.request.at):
            return EnforcementMode.MONITOR
        return mode

    @lazy
    def rule_matches(self) -> tuple[RuleMatch, ...]:
        """The matching WAF rules; empty if the WAF is off."""
        mode, domain = self.policy.settings.waf_mode, self.domain
        rules = () if mode is EnforcementMode.OFF else self.matching_rules()
        if not rules:
            return ()
        if domain is not None and domain.waf_monitor_until is not None:
            mode = self.waf_mode
        return tuple(
            [
                RuleMatch(
                    rule_id=rule.id,
                    name=rule.name,
                    category=rule.category,
                    score=rule.score,
                    enforced=mode is EnforcementMode.BLOCK and rule.action is Action.BLOCK,
                    blocks=rule.action is Action.BLOCK,
                    place=self._places.get(rule.id),
                )
                for rule in rules
            ]
        )

    def matching_rules(self) -> Sequence[WafRule]:
        """Return the matching rules: of a long request possibly only some that suffice to refuse, in any mode."""
        hits = self.policy.waf.hits(self.request, self.domain_name, self.policy.settings.waf_threshold)
        if not hits:
            return ()
        self._places = {hit.rule.id: (hit.target.value, hit.name) for hit in hits}
        return [hit.rule for hit in hits]

    @lazy
    def access(self) -> AccessOutcome:
        """The access that the request needs, by access rules and the domain."""
        domain = self.domain
        return self.policy.access_rules.outcome(self, domain.access if domain else Access.AUTHENTICATED)

    def access_trace(self) -> tuple[TracedReading, ...]:
        """Return why access rules decide as they do, for explanations."""
        domain = self.domain
        return trace_of(self.policy.access_rules, self, domain.access if domain else Access.AUTHENTICATED)

    @property
    def path_readings(self) -> tuple[str, ...] | None:
        """The paths that servers may resolve the request to, for access rules; None if there are too many."""
        return path_readings_of(self.request)

    @property
    def is_preflight(self) -> bool:
        """True for a CORS preflight (Fetch standard): OPTIONS with both headers that browsers send with it."""
        request = self.request
        is_asked = request.header("origin") and request.header("access-control-request-method")
        return bool(is_asked) and request.method == "OPTIONS"

    @property
    def asked_at(self) -> float:
        """Time of the request, for time windows (seconds since the epoch)."""
        return self.request.at

    @lazy
    def over_rate(self) -> OverRate | None:
        """The first limit that the client is over, or None: that of the settings, then those of access rules."""
        request, rates = self.request, self._ports.rates
        limit = self.policy.settings.request_rate_per_minute
        if limit and (seconds := rates.seconds_over(request.client, limit, request.at)):
            return OverRate(seconds)
        for rule in self.access.rates:
            if seconds := rates.seconds_over(request.client, rule.rate_per_minute, request.at, rule.id):
                return OverRate(seconds, rule)
        return None

    @lazy
    def subject(self) -> Subject | None:
        """The subject of the first valid credential, else the device of a pass, or None."""
        for credential in self.request.credentials:
            if credential.header and not self._may_hold_token(credential.header):
                continue
            subject = self._ports.credentials.subject_of(credential, self.policy, self.request.at)
            if subject is not None:
                has_link = self.request.credentials[-1].kind is CredentialKind.GUEST_COOKIE  # these come last
                return self._or_guest(subject) if has_link else subject
        return self._device() if self.policy.device_passes.has_any else None

    @lazy
    def grant(self) -> Grant | None:
        """The grant that lets the signed-in user in here, or None; looked up only where scope or rules refuse."""
        return self._grant_of(self.subject)

    def _grant_of(self, subject: Subject | None) -> Grant | None:
        domain = self.domain_name
        if subject is None or subject.kind is not SubjectKind.USER or domain is None:
            return None
        grants = self.policy.grants.of_user(subject.id, subject.group_ids)
        return next((each for each in grants if each.covers(self.request, domain, lambda: self.path_readings)), None)

    def _or_guest(self, subject: Subject) -> Subject:
        """Return the guest of a share link for this domain in place of a subject who may not enter it."""
        domain = self.domain_name
        if subject.may_enter(domain) or self._grant_of(subject):
            return subject
        for credential in self.request.credentials:
            if credential.kind is CredentialKind.GUEST_COOKIE:
                guest = self._ports.credentials.subject_of(credential, self.policy, self.request.at)
                if guest is not None and guest.may_enter(domain):
                    return guest
        return subject

    def _device(self) -> Subject | None:
        """Return the device of the first pass for the program whose user may still enter."""
        domain, policy = self.domain_name, self.policy
        passes = policy.device_passes.of(self.request, domain) if domain is not None else ()
        found = (each.subject(policy.users.get(each.user_id), policy.groups) for each in passes)
        return next(filter(None, found), None)

    def _may_hold_token(self, header: str) -> bool:
        """True if an access rule of the host names this header for app tokens."""
        return header in self.policy.access_rules.token_headers(self.domain_name, self.request.at)

    @property
    def known_rule_matches(self) -> tuple[RuleMatch, ...]:
        """The rule matches if already computed; runs no rule."""
        found: tuple[RuleMatch, ...] = self.__dict__.get("rule_matches", ())
        return found

    @property
    def known_grant(self) -> Grant | None:
        """The grant if already looked up: the request would be refused without it."""
        found: Grant | None = self.__dict__.get("grant")
        return found

    @property
    def has_looked_for_grant(self) -> bool:
        """True if a step asked for a grant, whether there is one or not."""
        return "grant" in self.__dict__

    @property
    def known_subject(self) -> Subject | None:
        """The subject if already computed; verifies nothing."""
        found: Subject | None = self.__dict__.get("subject")
        return found
