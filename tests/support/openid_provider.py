"""A scriptable OpenID Connect provider on loopback: it answers as specified, or like an attacker or a faulty server."""

import base64
import hashlib
import json
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from joserfc import jwk, jws
from joserfc.errors import SecurityWarning

from accounts.openid.signatures import _REGISTRY

CLIENT_ID, CLIENT_SECRET = "gatewall-at-home", "a secret/with:signs"
LOGOUT = "http://schemas.openid.net/event/backchannel-logout"
SOMEBODY = {"preferred_username": "dora", "email": "dora@corp.example", "email_verified": True, "groups": ["staff"]}


def a_key(kid: str, kind: str = "EC", size: Any = "P-256") -> jwk.Key:
    """Return a new signing key."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)  # one test needs a weak key
        return jwk.JWKRegistry.generate_key(kind, size, {"kid": kid, "use": "sig"})


class OpenIdProvider:
    """The provider. Its attributes change what it answers.

    ``claims``: of the next sign-in. ``in_token``: claims to replace in ID tokens, None to leave out. ``discovery``,
    ``in_response``: the same of the discovery document, and of the authorization response. ``sign``: makes a token of
    header and claims. ``answers``: by path, a function that answers in place of the endpoint. ``clock``: its time.
    """

    def __init__(self) -> None:
        self.keys = [a_key("first")]
        self.subject, self.sid = "sub-dora", "session-1"
        self.claims: dict[str, Any] = dict(SOMEBODY)
        self.in_token: dict[str, Any] = {}
        self.in_response: dict[str, Any] = {}
        self.discovery: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.user_info: dict[str, Any] = {}
        self.wants_pkce = True
        self.clock: Callable[[], float] = time.time
        self.sign = self._signed
        self.answers: dict[str, Callable[[Any], None]] = {}
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.over = threading.Event()
        self._codes: dict[str, dict[str, str]] = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"

    def settings(self, **values: Any) -> dict[str, Any]:
        """Return the fields of an identity provider row for this provider."""
        known = {"slug": "corp", "name": "Corp", "issuer": self.issuer, "client_id": CLIENT_ID, "allow_private": True}
        return {**known, "client_secret": CLIENT_SECRET, **values}

    def authorize(self, url: str) -> str:
        """Sign ``subject`` in; return the redirect to the callback, with code and state."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        answer = {"code": code, "state": asked["state"], "iss": self.issuer, **self.in_response}
        return f"{asked['redirect_uri']}?{urlencode({name: value for name, value in answer.items() if value})}"

    def id_token(self, **changes: Any) -> str:
        now = int(self.clock())
        claims = {
            "iss": self.issuer,
            "sub": self.subject,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "sid": self.sid,
            **self.claims,
            **self.in_token,
            **changes,
        }
        return self._token(claims, {"typ": "JWT"})

    def logout_token(self, **changes: Any) -> str:
        now = int(self.clock())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 120,
            "jti": secrets.token_hex(8),
            "sub": self.subject,
            "sid": self.sid,
            "events": {LOGOUT: {}},
            **changes,
        }
        return self._token(claims, {"typ": "logout+jwt"})

    def calls(self, path: str) -> list[dict[str, str]]:
        """Return the parameters of each request to an endpoint."""
        return [form for asked, _method, form in self.asked if asked == path]

    def _token(self, claims: Mapping[str, Any], header: Mapping[str, Any]) -> str:
        kept = {name: value for name, value in claims.items() if value is not None}
        named = {"alg": "ES256", "kid": self.keys[-1].kid, **header, **self.header}
        return self.sign({name: value for name, value in named.items() if value is not None}, kept)

    def _signed(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        return jws.serialize_compact(header, json.dumps(claims), self.keys[-1], registry=_REGISTRY)

    def _document(self) -> dict[str, Any]:
        base = self.issuer
        document = {
            "issuer": base,
            **{f"{name}_endpoint": f"{base}/{name}" for name in ("authorization", "token", "userinfo", "end_session")},
            "jwks_uri": f"{base}/jwks",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **self.discovery,
        }
        return {name: value for name, value in document.items() if value is not None}

    def _redeemed(self, form: Mapping[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        asked = self._codes.pop(form.get("code", ""), None)
        pair = f"{quote(CLIENT_ID, safe='')}:{quote(CLIENT_SECRET, safe='')}"
        if authorization != f"Basic {base64.b64encode(pair.encode()).decode()}":
            return 401, {"error": "invalid_client"}
        if asked is None or asked["redirect_uri"] != form.get("redirect_uri"):
            return 400, {"error": "invalid_grant"}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if self.wants_pkce and base64.urlsafe_b64encode(digest).decode().rstrip("=") != asked.get("code_challenge"):
            return 400, {"error": "invalid_grant"}
        token = self.id_token(**{"nonce": asked["nonce"], **self.in_token})
        return 200, {"access_token": "access", "token_type": "Bearer", "id_token": token}

    def _answer(self, path: str, form: Mapping[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        match path:
            case "/.well-known/openid-configuration":
                return 200, self._document()
            case "/jwks":
                return 200, {"keys": [key.as_dict(private=False) for key in self.keys]}
            case "/token":
                return self._redeemed(form, authorization)
            case "/userinfo":
                return 200, {"sub": self.subject, **self.user_info}
        return 404, {}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                parts = urlsplit(self.path)
                text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode() or parts.query
                form = {name: values[0] for name, values in parse_qs(text).items()}
                provider.asked.append((parts.path, self.command, form))
                if parts.path in provider.answers:
                    provider.answers[parts.path](self)
                elif parts.path == "/authorization":
                    self.send_response(303)
                    self.send_header("Location", provider.authorize(self.path))
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                else:
                    self.say(*provider._answer(parts.path, form, self.headers.get("Authorization", "")))

            def say(self, status: int, document: Any, **headers: str) -> None:
                body = json.dumps(document).encode()
                self.send_response(status)
                for name, value in {
                    "Content-Type": "application/json",
                    "Content-Length": str(len(body)),
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer  # noqa: N815 - names of http.server

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - name of http.server
                """Log nothing."""

        return Handler


@contextmanager
def providing() -> Iterator[OpenIdProvider]:
    """Run a provider for the duration of the block."""
    provider = OpenIdProvider()
    threading.Thread(target=provider.server.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield provider
    finally:
        provider.over.set()
        provider.server.shutdown()
        provider.server.server_close()
