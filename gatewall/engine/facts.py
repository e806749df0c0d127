"""Facts of one request under one policy, each computed when a step first needs it. No I/O."""

from collections.abc import Sequence

from gatewall.engine.hosts import Domain
from gatewall.engine.lists import Standing
from gatewall.engine.model import AccessRequest, Action, RuleMatch, Subject
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import EnforcementMode, PolicySnapshot
from gatewall.engine.values import lazy
from gatewall.engine.waf.rules import WafRule


class Facts:
    """Lazy facts: the request, the policy, and what follows from both."""

    def __init__(self, request: AccessRequest, policy: PolicySnapshot, ports: Ports) -> None:
        self.request = request
        self.policy = policy
        self._ports = ports

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
    def rule_matches(self) -> tuple[RuleMatch, ...]:
        """The matching WAF rules; empty if the WAF is off."""
        mode = self.policy.settings.waf_mode
        if mode is EnforcementMode.OFF:
            return ()
        return tuple(
            [
                RuleMatch(
                    rule_id=rule.id,
                    name=rule.name,
                    category=rule.category,
                    score=rule.score,
                    enforced=mode is EnforcementMode.BLOCK and rule.action is Action.BLOCK,
                )
                for rule in self.matching_rules()
            ]
        )

    def matching_rules(self) -> Sequence[WafRule]:
        """Return all matching rules; if ``waf_mode`` is block, possibly only some that suffice to refuse."""
        settings = self.policy.settings
        stop_at = settings.waf_threshold if settings.waf_mode is EnforcementMode.BLOCK else 0
        return self.policy.waf.inspect(self.request, self.domain_name, stop_at)

    @lazy
    def seconds_over_rate(self) -> int:
        """Seconds until the client is within its request rate again; 0 if it is, or without a limit."""
        limit = self.policy.settings.request_rate_per_minute
        if not limit:
            return 0
        return self._ports.rates.seconds_over(self.request.client, limit, self.request.at)

    @lazy
    def subject(self) -> Subject | None:
        """The subject of the first valid credential, or None."""
        for credential in self.request.credentials:
            subject = self._ports.credentials.subject_of(credential, self.policy, self.request.at)
            if subject is not None:
                return subject
        return None

    @property
    def known_rule_matches(self) -> tuple[RuleMatch, ...]:
        """The rule matches if already computed; runs no rule."""
        found: tuple[RuleMatch, ...] = self.__dict__.get("rule_matches", ())
        return found

    @property
    def known_subject(self) -> Subject | None:
        """The subject if already computed; verifies nothing."""
        found: Subject | None = self.__dict__.get("subject")
        return found
