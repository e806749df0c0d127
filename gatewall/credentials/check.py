"""Resolve a credential to its subject: the engine's credential port. No I/O, no clock.

Good signatures are cached by the token's digest, in bounded memory. Nothing else is: expiry, session version,
revocation and the subject's state are read from the policy every time, so revocation never waits for the cache.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, Protocol, TypeVar

from gatewall.credentials.guests import GuestClaims
from gatewall.credentials.machine import APP_TOKEN_PREFIX, GIT_TOKEN_PREFIX, LICENSE_PREFIX, digest_of, is_well_formed
from gatewall.credentials.sessions import SessionClaims
from gatewall.engine.expiry import is_live
from gatewall.engine.model import Credential, CredentialKind, Subject, SubjectKind
from gatewall.engine.snapshot import (
    AppTokenState,
    GitTokenState,
    LicenseState,
    PolicySnapshot,
    ShareLinkState,
)
from gatewall.engine.token_scope import TokenScope
from gatewall.engine.users import UserState

MEMO_SIZE = 4096


Claims = TypeVar("Claims")
Claims_co = TypeVar("Claims_co", covariant=True)


class Verifier(Protocol[Claims_co]):
    """Verifies tokens of one type."""

    def verify(self, token: str) -> Claims_co | None: ...


class VerifiedTokens(Generic[Claims]):
    """LRU cache of tokens of one type with a good signature: sessions, or the cookies of guests."""

    def __init__(self, verifier: Verifier[Claims], size: int = MEMO_SIZE) -> None:
        self._verifier = verifier
        self._size = size
        self._claims: OrderedDict[bytes, Claims] = OrderedDict()
        self._lock = Lock()

    def verify(self, token: str) -> Claims | None:
        """Return the claims of a token with a good signature, or None. Bad tokens are not cached."""
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

    def __init__(
        self,
        sessions: VerifiedTokens[SessionClaims],
        guests: VerifiedTokens[GuestClaims],
        on_future: Callable[[float, float], None] = lambda _at, _begins_at: None,
    ) -> None:
        """``on_future`` is called with the time and the start of a session token that is not valid yet."""
        self._sessions = sessions
        self._guests = guests
        self._on_future = on_future

    def subject_of(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        """Return the subject of a credential that is valid at this time, or None."""
        match credential.kind:
            case CredentialKind.SESSION_HEADER | CredentialKind.SESSION_COOKIE:
                return self._session(credential, policy, at)
            case CredentialKind.GIT_TOKEN | CredentialKind.GIT_BASIC:
                return _git_token(credential, policy, at)
            case CredentialKind.APP_BASIC | CredentialKind.APP_BEARER | CredentialKind.APP_HEADER:
                return _app_token(credential, policy, at)
            case CredentialKind.LICENSE:
                return _license(credential.secret, policy, at)
            case CredentialKind.GUEST_COOKIE:  # pragma: no branch - the last kind; mypy checks exhaustiveness
                return self._guest(credential.secret, policy, at)

    def _session(self, credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
        # Under the same policy, only the time can change the result for a token.
        for identity, known, subject in credential.known:
            if identity is policy.identity and known.in_force(at):
                return subject
        claims = self._sessions.verify(credential.secret)
        if claims is None or not claims.in_force(at) or claims.jti in policy.revoked_sessions:
            if claims is not None and not claims.has_begun(at):
                self._on_future(at, claims.begins_at)
            return None
        user = policy.users.get(claims.user_id)
        if user is None or user.session_version != claims.session_version:
            return None
        found = session_subject(user, policy, claims.amr)
        if found is not None:
            credential.known[:] = [(policy.identity, claims, found)]
        return found

    def _guest(self, token: str, policy: PolicySnapshot, at: float) -> Subject | None:
        claims = self._guests.verify(token)
        link = policy.share_links.get(claims.digest) if claims is not None and claims.in_force(at) else None
        return guest_subject(link, at) if link is not None else None


def session_subject(user: UserState, policy: PolicySnapshot, amr: tuple[str, ...]) -> Subject | None:
    """Return the subject of a user's valid session, None if the user is inactive."""
    return _person(SubjectKind.USER, user.id, user, policy, amr) if user.is_active else None


def license_subject(state: LicenseState, at: float) -> Subject | None:
    """Return the subject of a license's token, None if it is inactive or expired."""
    if not state.is_active or not is_live(state.expires_at, at):
        return None
    listed = frozenset() if state.all_domains else state.domains
    return Subject(SubjectKind.LICENSE, state.id, all_domains=state.all_domains, domains=listed)


def guest_subject(link: ShareLinkState, at: float) -> Subject | None:
    """Return the guest of a share link, limited to its domain, path and methods; None if the link is expired."""
    if not is_live(link.expires_at, at):
        return None
    domains, paths = frozenset({link.domain}), () if link.path_prefix is None else (link.path_prefix,)
    limits = TokenScope(all_domains=False, domains=domains, paths=paths, methods=link.methods)
    return Subject(SubjectKind.GUEST, link.id, all_domains=False, domains=domains, limits=limits)


def git_token_subject(state: GitTokenState, policy: PolicySnapshot, at: float) -> Subject | None:
    """Return the subject of a git token, None if it is expired or its user inactive."""
    return _owner(SubjectKind.GIT_TOKEN, state, policy, at)


def app_token_subject(state: AppTokenState, policy: PolicySnapshot, at: float) -> Subject | None:
    """Return the subject of an app token, None if it is expired or its user inactive."""
    limits = TokenScope(state.all_domains, frozenset() if state.all_domains else state.domains, state.paths)
    return _owner(SubjectKind.APP_TOKEN, state, policy, at, limits)


def _git_token(credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
    if not is_well_formed(credential.secret, GIT_TOKEN_PREFIX):
        return None
    token = policy.git_tokens.get(digest_of(credential.secret))
    subject = git_token_subject(token, policy, at) if token is not None else None
    if subject is None or subject.name.lower() != credential.username.lower():
        return None
    return subject


def _app_token(credential: Credential, policy: PolicySnapshot, at: float) -> Subject | None:
    """Return the subject of an app token; only Basic authentication names a user, and must name its owner."""
    if not is_well_formed(credential.secret, APP_TOKEN_PREFIX):
        return None
    token = policy.app_tokens.get(digest_of(credential.secret))
    subject = app_token_subject(token, policy, at) if token is not None else None
    if subject is None or credential.kind is not CredentialKind.APP_BASIC:
        return subject
    return subject if subject.name.lower() == credential.username.lower() else None


def _license(token: str, policy: PolicySnapshot, at: float) -> Subject | None:
    if not is_well_formed(token, LICENSE_PREFIX):
        return None
    state = policy.licenses.get(digest_of(token))
    return license_subject(state, at) if state is not None else None


def _owner(
    kind: SubjectKind,
    state: GitTokenState | AppTokenState,
    policy: PolicySnapshot,
    at: float,
    limits: TokenScope | None = None,
) -> Subject | None:
    """Return the user of a live token as its subject, None if the user is inactive."""
    user = policy.users.get(state.user_id)
    if user is None or not user.is_active or not is_live(state.expires_at, at):
        return None
    return _person(kind, state.id, user, policy, (), limits)


def _person(
    kind: SubjectKind,
    subject_id: int,
    user: UserState,
    policy: PolicySnapshot,
    amr: tuple[str, ...],
    limits: TokenScope | None = None,
) -> Subject:
    scope = policy.groups.scope(user.groups, all_domains=user.all_domains, domains=user.domains)
    return Subject(
        kind=kind,
        id=subject_id,
        name=user.username,
        email=user.email,
        is_admin=user.is_admin,
        all_domains=scope.all_domains,
        domains=scope.domains,
        amr=amr,
        user_id=user.id,
        groups=scope.names,
        group_ids=scope.ids,
        limits=limits,
    )
