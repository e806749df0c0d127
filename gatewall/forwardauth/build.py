"""Puts a gate together from the configuration, for either plane. Pure."""

import time

from audit.spool import SpoolWriter
from gatewall.credentials.check import PolicyCredentials, VerifiedTokens
from gatewall.credentials.sessions import GATE_AUDIENCE, ISSUER, SessionVerifier
from gatewall.engine.ports import Ports
from gatewall.env import Config
from gatewall.forwardauth.countries import Countries
from gatewall.forwardauth.gate import Gate, Policies
from gatewall.forwardauth.responses import GuardPage
from gatewall.request_rate import SharedRequestRate
from gatewall.snapshot.places import node_name, run_folder


def build_gate(config: Config, policies: Policies, countries: Countries) -> Gate:
    """Return the gate of this process; its records go to a spool file of their own."""
    verifier = SessionVerifier(config.jwt_keys, issuer=ISSUER, audience=GATE_AUDIENCE)
    run = run_folder(config.home)
    ports = Ports(
        countries=countries,
        credentials=PolicyCredentials(VerifiedTokens(verifier)),
        rates=SharedRequestRate(run / "request-rate"),
    )
    spool = SpoolWriter(config.home / "spool", node_name())
    spool.sync_regularly()
    return Gate(
        policies,
        ports,
        trusted=config.trusted_proxies,
        guard=GuardPage(config.root_path, config.public_url),
        clock=time.time,
        records=spool,
    )
