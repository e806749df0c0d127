"""The discovery document of a provider (OpenID Connect Discovery 1.0, RFC 8414), parsed once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accounts.openid.errors import ProviderFailed
from accounts.openid.settings import ProviderSettings
from gatewall.kernel.downloads import DownloadRefused, require_acceptable

PATH = "/.well-known/openid-configuration"
_LONGEST_URL = 1000
_CHALLENGE = "S256"


@dataclass(frozen=True, slots=True)
class Metadata:
    """Endpoints of a provider. ``announces_issuer``: its responses contain ``iss`` (RFC 9207)."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    announces_issuer: bool = False
    secret_in_body: bool = False


def parse_metadata(document: Mapping[str, Any], provider: ProviderSettings) -> Metadata:
    """Return the metadata of this provider. Raises ProviderFailed.

    The issuer must be equal to the configured one: else one provider could pose as another (mix-up attack).
    """
    if document.get("issuer") != provider.issuer:
        raise ProviderFailed("issuer-mismatch", "the discovery document is that of another issuer")
    methods = document.get("code_challenge_methods_supported")
    if methods is not None and (not isinstance(methods, list) or _CHALLENGE not in methods):
        raise ProviderFailed("no-pkce", "the provider does not support PKCE with S256")
    ways = document.get("token_endpoint_auth_methods_supported")
    in_body = isinstance(ways, list) and "client_secret_basic" not in ways and "client_secret_post" in ways
    return Metadata(
        authorization_endpoint=_endpoint(document, "authorization_endpoint", provider),
        token_endpoint=_endpoint(document, "token_endpoint", provider),
        jwks_uri=_endpoint(document, "jwks_uri", provider),
        userinfo_endpoint=_endpoint(document, "userinfo_endpoint", provider, is_required=False),
        end_session_endpoint=_endpoint(document, "end_session_endpoint", provider, is_required=False),
        announces_issuer=document.get("authorization_response_iss_parameter_supported") is True,
        secret_in_body=in_body,
    )


def _endpoint(document: Mapping[str, Any], name: str, provider: ProviderSettings, *, is_required: bool = True) -> str:
    url = document.get(name)
    if url is None and not is_required:
        return ""
    plain = isinstance(url, str) and len(url) <= _LONGEST_URL and url.isascii() and url.isprintable()
    if not isinstance(url, str) or not plain or not set(' "#<>\\').isdisjoint(url):
        raise ProviderFailed("bad-discovery", f"{name} is no URL")
    try:
        require_acceptable(url, provider.reach)
    except DownloadRefused as refused:
        raise ProviderFailed("bad-discovery", f"{name}: {refused}") from None
    return url
