"""The authorization code flow with PKCE (RFC 6749, RFC 7636): redirect to a provider, redeem its code, get its claims.

Verifier and nonce are derived from the random ``state``, so that no secret is stored during the visit to the provider.
"""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from django.utils.crypto import salted_hmac

from accounts.openid.documents import documents
from accounts.openid.errors import ProviderFailed, TokenRefused
from accounts.openid.fetching import ask, get_json, object_of
from accounts.openid.settings import ProviderSettings
from accounts.openid.tokens import IdToken, is_plain, read_id_token
from gatewall.credentials import base64url

_FORM = "application/x-www-form-urlencoded"
_LONGEST_CODE = 4096


def new_state() -> str:
    """Return a random ``state``."""
    return secrets.token_urlsafe(32)


def authorization_url(provider: ProviderSettings, *, state: str, redirect_uri: str) -> str:
    """Return the URL of the provider to redirect the visitor to. Raises ProviderFailed."""
    query = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(provider.scopes),
        "state": state,
        "nonce": _nonce(state),
        "code_challenge": base64url.encode(hashlib.sha256(_verifier(state).encode()).digest()),
        "code_challenge_method": "S256",
    }
    return _with_query(documents.metadata(provider).authorization_endpoint, query)


def check_issuer(provider: ProviderSettings, iss: str | None) -> None:
    """Refuse a response of another issuer than the expected one (RFC 9207). Raises TokenRefused, ProviderFailed."""
    if iss is None and not documents.metadata(provider).announces_issuer:
        return
    if iss != provider.issuer:
        raise TokenRefused("response-issuer", "the response does not name the provider that was asked")


def redeem(
    provider: ProviderSettings, code: str, *, state: str, redirect_uri: str, begun_at: datetime, at: datetime
) -> IdToken:
    """Exchange a code for an ID token; return it with further claims from the UserInfo endpoint.

    Raises TokenRefused, ProviderFailed.
    """
    if not 0 < len(code) <= _LONGEST_CODE:
        raise TokenRefused("code", "the response has no code")
    tokens = _token_response(provider, code, _verifier(state), redirect_uri)
    text, access_token = tokens.get("id_token"), tokens.get("access_token")
    if not isinstance(text, str):
        raise ProviderFailed("no-id-token", "the provider issued no ID token")
    token = read_id_token(provider, text, nonce=_nonce(state), begun_at=begun_at, at=at)
    more = _user_info(provider, access_token, token.subject) if isinstance(access_token, str) else {}
    return IdToken(token.subject, token.sid, {**more, **token.claims}, text)


def end_session_url(provider: ProviderSettings, *, id_token: str, return_to: str) -> str:
    """Return the URL of the provider's sign-out page, "" if it has none. Raises ProviderFailed."""
    endpoint = documents.metadata(provider).end_session_endpoint
    if not endpoint:
        return ""
    hint = {"id_token_hint": id_token} if id_token else {}
    return _with_query(endpoint, {"client_id": provider.client_id, "post_logout_redirect_uri": return_to, **hint})


def _token_response(provider: ProviderSettings, code: str, verifier: str, redirect_uri: str) -> dict[str, Any]:
    metadata = documents.metadata(provider)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    headers = {"Content-Type": _FORM}
    if provider.client_secret is None:
        form["client_id"] = provider.client_id
    elif metadata.secret_in_body:
        form |= {"client_id": provider.client_id, "client_secret": provider.client_secret}
    else:
        pair = f"{quote(provider.client_id, safe='')}:{quote(provider.client_secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    body = urlencode(form).encode()
    answer = ask(provider, "POST", metadata.token_endpoint, body=body, headers=headers)
    if answer.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNAUTHORIZED}:
        raise TokenRefused("code-refused", f"the provider refused the code or this client with {answer.status}")
    if answer.status != HTTPStatus.OK:
        raise ProviderFailed("unexpected-answer", f"the token endpoint answered {answer.status}")
    return object_of(answer.body)


def _user_info(provider: ProviderSettings, access_token: str, subject: str) -> Mapping[str, Any]:
    """Return the claims of the UserInfo endpoint, {} without one. Raises TokenRefused, ProviderFailed."""
    endpoint = documents.metadata(provider).userinfo_endpoint
    if not endpoint:
        return {}
    if not (access_token.isascii() and access_token.isprintable() and " " not in access_token):
        raise ProviderFailed("bad-access-token", "the access token is malformed")
    found = get_json(provider, endpoint, headers={"Authorization": f"Bearer {access_token}"})
    if not is_plain(found.get("sub")) or found["sub"] != subject:
        raise TokenRefused("user-info", "the UserInfo response is about somebody else")
    return found


def _with_query(endpoint: str, query: Mapping[str, str]) -> str:
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"


def _verifier(state: str) -> str:
    """Return the code verifier of a sign-in: 43 characters (RFC 7636 section 4.1)."""
    return base64url.encode(salted_hmac("accounts.openid.verifier", state, algorithm="sha256").digest())


def _nonce(state: str) -> str:
    return base64url.encode(salted_hmac("accounts.openid.nonce", state, algorithm="sha256").digest())
