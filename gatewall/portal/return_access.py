"""Proof that a site still requires from a signed-in visitor, by the gate's own steps for the return URL."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest

from accounts import browser
from gatewall.credentials.check import session_subject
from gatewall.engine import access_steps
from gatewall.engine.addresses import parse_address
from gatewall.engine.facts import Facts
from gatewall.engine.hosts import Authority
from gatewall.engine.model import AccessRequest, Credential, CredentialKind, Reason, Subject
from gatewall.engine.ports import Ports
from gatewall.engine.snapshot import PolicySnapshot
from gatewall.gate.build import read_only_ports
from gatewall.portal import pages
from gatewall.portal.pages import Caller
from gatewall.publication.control_plane import sources_of

_VISIBLE = frozenset({"for", "host", "proto", "method", "uri"})


class _CallerCredentials:
    """Credential port with the visitor's session, which this page has checked already."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        user = policy.users.get(self._caller.user.pk)
        return session_subject(user, policy, tuple(self._caller.token["amr"])) if user is not None else None


def missing_proof(request: HttpRequest, return_url: str, caller: Caller) -> Reason | None:
    """Return the reason why the gate would require more than this session for a GET of the return URL, else None.

    Uses the same facts as the gate, so that a visitor is never redirected to and fro between site and guard page.
    """
    policies, countries = sources_of(settings.CONFIG)
    policy, asked = policies.current(), _access_request(request, return_url)
    if policy is None or asked is None:
        return None
    usual = read_only_ports(settings.CONFIG, countries)
    facts = Facts(asked, policy, Ports(usual.countries, _CallerCredentials(caller), usual.rates))
    verdict = access_steps.missing_proof(facts)
    return verdict.reason if verdict else None


def _access_request(request: HttpRequest, return_url: str) -> AccessRequest | None:
    """Return the request that the browser would send; None for an unreadable URL or client address."""
    parts = urlsplit(return_url)
    authority, client = Authority.parse(parts.netloc), parse_address(browser.visitor(request).client_ip)
    if authority is None or client is None:
        return None
    return AccessRequest(
        at=pages.now().timestamp(),
        client=client,
        authority=authority,
        scheme=parts.scheme,
        uri=(parts.path or "/").encode("utf-8", "replace").decode("latin-1"),
        credentials=(Credential(CredentialKind.SESSION_COOKIE, ""),),
        visible=_VISIBLE,
    )
