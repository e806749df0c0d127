"""Puts a gate, and what explains it, together from the configuration. Pure."""

import time

from audit.spool.writer import SpoolWriter
from gatewall.credentials.check import PolicyCredentials, VerifiedTokens
from gatewall.credentials.sessions import GATE_AUDIENCE, ISSUER, SessionVerifier
from gatewall.engine.ports import Ports
from gatewall.gate.countries import Countries
from gatewall.gate.gate import ConfirmedPolicies, Gate, Policies
from gatewall.gate.responses import GuardPage
from gatewall.gate.untrusted import FOLDER, UntrustedPeers
from gatewall.kernel.env import Config
from gatewall.kernel.request_rate import LookedAtRequestRate, SharedRequestRate
from gatewall.replay.explanation import Explainer
from gatewall.replay.waf_trial import RuleTrial
from gatewall.snapshot.places import node_name, run_folder

_RATES = "request-rate"


def build_gate(config: Config, policies: ConfirmedPolicies, countries: Countries) -> Gate:
    """Return the gate of this process; its records go to a spool file of their own."""
    ports = Ports(
        countries=countries,
        credentials=PolicyCredentials(VerifiedTokens(_verifier(config))),
        rates=SharedRequestRate(run_folder(config.home) / _RATES),
    )
    spool = SpoolWriter(config.home / "spool", node_name(), sync=config.spool_sync)
    spool.sync_regularly()
    return Gate(
        policies,
        ports,
        trusted=config.trusted_proxies,
        guard=GuardPage(config.root_path, config.public_url),
        clock=time.time,
        records=spool,
        peers=UntrustedPeers(run_folder(config.home) / FOLDER, config.trusted_proxies),
        age=policies.age,
    )


def build_explainer(config: Config, policies: Policies, countries: Countries) -> Explainer:
    """Return what says how the gate of this configuration would answer; nothing that it is asked leaves a trace."""
    return Explainer(policies, _without_a_trace(config, countries), trusted=config.trusted_proxies, clock=time.time)


def build_rule_trial(config: Config, policies: Policies, countries: Countries) -> RuleTrial:
    """Return what tries WAF rules on requests that nobody made."""
    return RuleTrial(policies, _without_a_trace(config, countries), clock=time.time)


def _without_a_trace(config: Config, countries: Countries) -> Ports:
    return Ports(
        countries=countries,
        credentials=PolicyCredentials(VerifiedTokens(_verifier(config), size=0)),  # a token is not remembered either
        rates=LookedAtRequestRate(run_folder(config.home) / _RATES),
    )


def _verifier(config: Config) -> SessionVerifier:
    return SessionVerifier(config.jwt_keys, issuer=ISSUER, audience=GATE_AUDIENCE)
