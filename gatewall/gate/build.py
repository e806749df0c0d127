"""Build the gate of this process, and ports for dry runs, from the configuration. No Django."""

import time

from audit.spool.writer import SpoolWriter
from gatewall.credentials.check import MEMO_SIZE, PolicyCredentials, VerifiedTokens
from gatewall.credentials.guests import GuestClaims, GuestVerifier
from gatewall.credentials.identity_keys import IdentityKeys
from gatewall.credentials.sessions import GATE_AUDIENCE, ISSUER, SessionClaims, SessionVerifier
from gatewall.engine.ports import Ports
from gatewall.gate.countries import Countries
from gatewall.gate.future_sessions import FutureSessions
from gatewall.gate.gate import ConfirmedPolicies, Gate
from gatewall.gate.responses import GuardPage
from gatewall.gate.shadow import Shadow
from gatewall.gate.signed_identity import SignedIdentities
from gatewall.gate.untrusted import FOLDER, UntrustedPeers
from gatewall.kernel.env import Config
from gatewall.kernel.request_rate import ReadOnlyRequestRate, RequestRateView, SharedRequestRate
from gatewall.snapshot.host_paths import node_name, run_folder

_RATES = "request-rate"
"""File in the run folder with the request counts of clients."""


def build_gate(config: Config, policies: ConfirmedPolicies, countries: Countries) -> Gate:
    """Build the gate of this process, with a spool file of its own."""
    tokens, rates = _verified_tokens(config), SharedRequestRate(run_folder(config.home) / _RATES)
    ports = Ports(
        countries=countries,
        credentials=PolicyCredentials(*tokens, FutureSessions().log),
        rates=rates,
    )
    read_only = Ports(countries=countries, credentials=PolicyCredentials(*tokens), rates=RequestRateView(rates))
    spool = SpoolWriter(config.home / "spool", node_name(), sync=config.spool_sync)
    spool.sync_regularly()
    gate = Gate(
        policies,
        ports,
        trusted=config.trusted_proxies,
        guard=GuardPage(config.root_path, config.public_url, config.other_public_urls),
        clock=time.time,
        records=spool,
        peers=UntrustedPeers(run_folder(config.home) / FOLDER, config.trusted_proxies),
        age=policies.age,
    )
    gate.identities = SignedIdentities(IdentityKeys(config.jwt_keys), config.public_url)
    gate.shadow = Shadow(ports, read_only, spool)
    return gate


def read_only_ports(config: Config, countries: Countries) -> Ports:
    """Return ports for dry runs: they count nothing and cache nothing."""
    return Ports(
        countries=countries,
        credentials=PolicyCredentials(*_verified_tokens(config, size=0)),
        rates=ReadOnlyRequestRate(run_folder(config.home) / _RATES),
    )


def _verified_tokens(
    config: Config, size: int = MEMO_SIZE
) -> tuple[VerifiedTokens[SessionClaims], VerifiedTokens[GuestClaims]]:
    sessions = SessionVerifier(config.jwt_keys, issuer=ISSUER, audience=GATE_AUDIENCE)
    return VerifiedTokens(sessions, size), VerifiedTokens(GuestVerifier(config.jwt_keys), size)
