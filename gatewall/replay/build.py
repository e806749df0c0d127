"""Build the explainer and the WAF rule trial from the configuration. No Django."""

import time

from gatewall.credentials.check import PolicyCredentials, VerifiedTokens
from gatewall.engine.ports import Ports
from gatewall.gate.build import RATES, session_verifier
from gatewall.gate.countries import Countries
from gatewall.gate.gate import Policies
from gatewall.kernel.env import Config
from gatewall.kernel.request_rate import ReadOnlyRequestRate
from gatewall.replay.explanation import Explainer
from gatewall.replay.waf_trial import RuleTrial
from gatewall.snapshot.host_paths import run_folder


def build_explainer(config: Config, policies: Policies, countries: Countries) -> Explainer:
    """Build the explainer of hypothetical requests; it counts, caches and records nothing."""
    return Explainer(policies, _read_only_ports(config, countries), trusted=config.trusted_proxies, clock=time.time)


def build_rule_trial(config: Config, policies: Policies, countries: Countries) -> RuleTrial:
    """Build the dry run of WAF rules on hypothetical requests."""
    return RuleTrial(policies, _read_only_ports(config, countries), clock=time.time)


def _read_only_ports(config: Config, countries: Countries) -> Ports:
    return Ports(
        countries=countries,
        credentials=PolicyCredentials(VerifiedTokens(session_verifier(config), size=0)),  # no caching
        rates=ReadOnlyRequestRate(run_folder(config.home) / RATES),
    )
