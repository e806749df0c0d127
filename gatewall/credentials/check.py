"""Who a credential proves: the engine's credential port. No I/O, no clock.

A signature that was found good once is remembered by the digest of the token, in bounded memory.
Nothing else is: expiry, session version, revocation and the state of the subject are looked up in
the policy every time, so no revocation ever waits for the memo.
"""

import hashlib
from collections import OrderedDict
from threading import Lock

from gatewall.credentials.machine import GIT_TOKEN_PREFIX, LICENSE_PREFIX, digest_of, is_well_formed
from gatewall.credentials.sessions import SessionClaims, SessionVerifier
from gatewall.engine.expiry import is_live
from gatewall.engine.model import Credential, CredentialKind, Subject, SubjectKind
from gatewall.engine.snapshot import GitTokenState, LicenseState, PolicySnapshot, UserState

_MEMO_SIZE = 4096


class VerifiedTokens:
    """The tokens whose signature was found good, the least recently used dropped first."""

    def __init__(self, verifier: SessionVerifier, size: int = _MEMO_SIZE) -> None:
        self._verifier = verifier
        self._size = size
        self._claims: OrderedDict[bytes, SessionClaims] = OrderedDict()
        self._lock = Lock()

    def verify(self, token: str) -> SessionClaims | None:
        """Return the claims of a token with a good signature, or None. Bad tokens are not remembered."""
        digest = hashlib.sha256(token.encode("latin-1", "replace")).digest()
        with self._lock:
            claims = self._claims.get(digest)
            if claims is not None:
                self._claims.move_to_end(digest)
                return claims
        claims = self._verifier.verify(token)
        if claims is not None:
            with self._lock:
                self._claims[digest] = claims
                if len(self._claims) > self._size:
                    self._claims.popitem(last=False)
        return claims


class PolicyCredentials:
    """Resolves credentials against the users, tokens and licenses of a policy snapshot."""

    def __init__(self, sessions: VerifiedTokens) -> None:
        self._sessions = sessions

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        """Return the subject that the credential proves at this moment, or None."""
        match credential.kind:
            case CredentialKind.SESSION_HEADER | CredentialKind.SESSION_COOKIE:
                return self._session(credential.secret, policy, at)
            case CredentialKind.GIT_TOKEN | CredentialKind.GIT_BASIC:
                return _git_token(credential, policy, at)
            case CredentialKind.LICENSE:  # pragma: no branch - the last kind; mypy sees that every one is here
                return _license(credential.secret, policy, at)

    def _session(self, token: str, policy: PolicySnapshot, at: float) -> Subject | None:
        claims = self._sessions.verify(token)
        if claims is None or not claims.in_force(at) or claims.jti in policy.revoked_sessions:
            return None
        user = policy.users.get(claims.user_id)
        if user is None or user.session_version != claims.session_version:
            return None
        return session_subject(user, claims.amr)


def session_subject(user: UserState, amr: tuple[str, ...]) -> Subject | None:
    """Return who a session of this user in force proves, None if they may not sign in."""
    return _person(SubjectKind.USER, user.id, user, amr) if user.is_active else None


def license_subject(state: LicenseState, at: float) -> Subject | None:
    """Return who the token of this license proves, None if it is switched off or has expired."""
    if not state.is_active or not is_live(state.expires_at, at):
        return None
    return Subject(SubjectKind.LICENSE, state.id, all_domains=state.all_domains, domains=state.domains)


def git_token_subject(state: GitTokenState, policy: PolicySnapshot, at: float) -> Subject | None:
    """Return who this git token proves, None if it has expired or its user may not sign in."""
    user = policy.users.get(state.user_id)
    if user is None or not user.is_active or not is_live(state.expires_at, at):
        return None
    return _person(SubjectKind.GIT_TOKEN, state.id, user, ())


def _git_token(credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
    if not is_well_formed(credential.secret, GIT_TOKEN_PREFIX):
        return None
    token = policy.git_tokens.get(digest_of(credential.secret))
    subject = git_token_subject(token, policy, at) if token is not None else None
    if subject is None or subject.name.lower() != credential.username.lower():
        return None
    return subject


def _license(token: str, policy: PolicySnapshot, at: float) -> Subject | None:
    if not is_well_formed(token, LICENSE_PREFIX):
        return None
    state = policy.licenses.get(digest_of(token))
    return license_subject(state, at) if state is not None else None


def _person(kind: SubjectKind, subject_id: int, user: UserState, amr: tuple[str, ...]) -> Subject:
    return Subject(
        kind=kind,
        id=subject_id,
        name=user.username,
        email=user.email,
        is_admin=user.is_admin,
        all_domains=user.all_domains,
        domains=user.domains,
        amr=amr,
    )
