"""The signed identity: a short-lived token in ``X-Gatewall-Identity``, and the key set that verifies it. No I/O.

A site that verifies it need not trust plain headers: requests that bypass the proxy have no valid token.
"""

import uuid
from typing import Any

from gatewall.credentials.identity_keys import IdentityKeys
from gatewall.engine.hosts import Authority
from gatewall.engine.model import NAMELESS, AccessRequest, Decision, Subject
from gatewall.engine.snapshot import PolicySnapshot, SignedIdentity
from gatewall.gate.identity import groups_of
from gatewall.gate.responses import not_allowed
from gatewall.server.answer_bytes import Answer

HEADER = "X-Gatewall-Identity"
LIFETIME_SECONDS = 120
REUSE_SECONDS = 30
"""A token is reused for this long; a site has at least the rest of the lifetime to verify it."""
_REMEMBERED = 4096
_KEY_SET_SECONDS = 300
"""How long a key set may be cached. A key is in it for a day before it signs (``RESTART_GRACE``)."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NO_HEADER: tuple[tuple[str, str], ...] = ()

_Key = tuple[int, int | None, tuple[str, ...], bool, str, str, int | None]
_Signed = tuple[float, str, Subject, SignedIdentity]
_NEVER = (0.0, "", None, None)


class SignedIdentities:
    """Signs the identity of subjects, at most once per subject, host and 30 seconds. Thread-safe.

    A token is reused only for an equal subject, so a change of a user or a group is in the next token. Subjects are
    compared, not hashed: mostly they are the same object, and the hash of their fields costs more than all the rest.
    """

    def __init__(self, keys: IdentityKeys, issuer: str | None = None) -> None:
        """``issuer`` is the public URL; None for the address of each site, where the guard page is then."""
        self._keys = keys
        self._issuer = issuer
        self._tokens: dict[_Key, _Signed] = {}

    def headers(
        self, decision: Decision, request: AccessRequest, policy: PolicySnapshot
    ) -> tuple[tuple[str, str], ...]:
        """Return the header for an allowed request; none if the setting is off, or subject or host is unknown."""
        subject, authority, algorithm = decision.subject, request.authority, policy.settings.signed_identity
        if algorithm is SignedIdentity.OFF or subject is None or authority is None:
            return _NO_HEADER
        # Subjects of different kinds differ in the last three.
        subject_key = (subject.id, subject.user_id, subject.amr, subject.limits is None)
        key = (*subject_key, request.scheme, authority.host.name, authority.port)
        signed_at, token, signed_subject, signed_by = self._tokens.get(key, _NEVER)
        is_same = (signed_subject is subject or signed_subject == subject) and signed_by is algorithm
        if not (is_same and 0 <= request.at - signed_at < REUSE_SECONDS):
            token = self._keys.sign(self._claims(subject, request.scheme, authority, request.at), algorithm.value)
            if len(self._tokens) >= _REMEMBERED:
                self._tokens.clear()
            self._tokens[key] = (request.at, token, subject, algorithm)
        return ((HEADER, token),)

    def _claims(self, subject: Subject, scheme: str, authority: Authority, at: float) -> dict[str, Any]:
        site = _origin(scheme, authority)
        issued_at = int(at)
        times = {"iat": issued_at, "exp": issued_at + LIFETIME_SECONDS}
        return {"iss": self._issuer or site, "aud": site, **times, **_subject_claims(subject)}

    def key_set(self, method: str) -> Answer:
        """Return the response with the public keys."""
        if method not in {"GET", "HEAD"}:
            return not_allowed()
        headers = (
            ("Content-Type", "application/json"),
            ("Cache-Control", f"public, max-age={_KEY_SET_SECONDS}"),
            ("X-Request-Id", str(uuid.uuid4())),
            ("X-Content-Type-Options", "nosniff"),
        )
        return Answer(200, headers, self._keys.key_set)


def _subject_claims(subject: Subject) -> dict[str, Any]:
    """Return the claims about a subject. A user's token counts as the user; other subjects have no name."""
    kind = str(subject.kind)
    if subject.kind in NAMELESS:
        return {"sub": f"{kind}:{subject.id}", "subject_kind": kind}
    return {
        "sub": str(subject.user_id),
        "preferred_username": subject.name,
        **({"email": subject.email} if subject.email else {}),
        "groups": list(groups_of(subject)),
        "amr": list(subject.amr),
        "subject_kind": kind,
    }


def _origin(scheme: str, authority: Authority) -> str:
    """Return the origin of the site, without a default port (RFC 6454 section 6.2)."""
    if authority.port == _DEFAULT_PORTS.get(scheme):
        return f"{scheme}://{authority.host.name}"
    return f"{scheme}://{authority}"
