"""Sign in with username, password and second factor; open the session."""

import uuid
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.db import transaction

from accounts import selectors, services, tokens
from accounts.hashers import limit_concurrency
from accounts.identity_providers import sessions
from accounts.models import User
from accounts.remembered_devices import services as remembered_devices
from accounts.sign_in import challenges, code_entry, events, methods, passkey
from accounts.sign_in import password as passwords
from accounts.sign_in.challenges import Challenged, InvalidChallenge
from accounts.sign_in.passkey import PasskeyPage
from accounts.tokens import API, GATE, IssuedToken
from accounts.visitor import Visitor
from gatewall.engine import auth_methods
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Forbidden, Gone, Refusal
from gatewall.policy import revisions, system_settings

_WRONG = _("the user name or the password is wrong")


class InvalidCredentials(Refusal):
    """Unknown user, wrong password or disabled account: the response does not say which."""

    code = "invalid-credentials"


class InvalidCode(Refusal):
    """The second factor is wrong or was already used."""

    code = "invalid-code"


class AdminRequired(Forbidden):
    """The credentials are right, but only admins and auditors may sign in here."""

    code = "admin-required"


@dataclass(frozen=True, slots=True)
class Flow:
    """A sign-in flow: name, audiences of its tokens, and whether it is for admins and auditors only.

    ``knows_devices``: a remembered device is not asked for the second factor.
    """

    name: str
    audiences: tuple[str, ...]
    admins_only: bool = False
    knows_devices: bool = False


LOGIN = Flow("login", (GATE, API))
ADMIN_LOGIN = Flow("admin-login", (GATE, API), admins_only=True)
GUARD = Flow("guard", (GATE,), knows_devices=True)
ADMIN_SITE = Flow("admin-site", (), admins_only=True)
"""The Django admin, which opens its own session."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A completed sign-in."""

    user: User
    token: IssuedToken
    amr: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proven:
    """An authenticated user and the methods used (RFC 8176)."""

    user: User
    amr: tuple[str, ...]
    challenge: uuid.UUID | None = None
    """The challenge that a second factor answered."""
    is_remembered: bool = False
    """Whether a remembered device replaced the second factor, without proving it."""


def sign_in(username: str, password: str, *, flow: Flow, visitor: Visitor, at: datetime) -> SignedIn | Challenged:
    """Open a session for a correct password, or return a challenge if the account has a second factor.

    Raises InvalidCredentials, AdminRequired, TooManyAttempts, TooBusy.
    """
    proof = prove_password(username, password, flow=flow, visitor=visitor, at=at)
    return proof if isinstance(proof, Challenged) else open_session(proof, flow=flow, visitor=visitor, at=at)


def finish_sign_in(token: str, code: str, *, flow: Flow, visitor: Visitor, at: datetime) -> SignedIn:
    """Open a session for the challenge's user after a correct second-factor code.

    Raises InvalidChallenge, InvalidCode, AdminRequired, TooManyAttempts, CodeEntryLocked.
    """
    proof = prove_code(token, code, flow=flow, visitor=visitor, at=at)
    try:
        return open_session(proof, flow=flow, visitor=visitor, at=at)
    except InvalidCredentials:
        raise InvalidChallenge(challenges.OVER) from None


def begin_passkey(token: str, page: PasskeyPage, *, flow: Flow, at: datetime) -> dict[str, Any]:
    """Return the options to use a passkey: one of the challenge's user or, without a challenge, of any user.

    Raises InvalidChallenge.
    """
    challenge = challenges.find(token, flow.name, at=at) if token else None
    return passkey.begin(page, _purpose(token, flow), user=challenge.user if challenge else None, at=at)


def sign_in_with_passkey(
    answer: object, token: str, page: PasskeyPage, *, flow: Flow, visitor: Visitor, at: datetime
) -> SignedIn:
    """Open a session for the verified answer of an authenticator; ``token`` is a challenge, or empty.

    Raises InvalidChallenge, PasskeyRefused, InvalidCredentials, AdminRequired, TooManyAttempts.
    """
    challenge = challenges.find(token, flow.name, at=at) if token else None
    begun = challenge.user if challenge else None
    user, amr = passkey.prove(answer, page, _purpose(token, flow), user=begun, flow=flow.name, visitor=visitor, at=at)
    proven = Proven(user, amr)
    if challenge is not None:
        challenges.spend(challenge, at=at)
        proven = Proven(user, methods.union(challenges.proved(challenge), amr), challenge.pk)
    proof = ask_for_second_factor(proven, flow=flow, visitor=visitor, at=at)
    assert isinstance(proof, Proven)  # noqa: S101 - a passkey is more than one factor
    return open_session(proof, flow=flow, visitor=visitor, at=at)


@limit_concurrency()
def prove_password(username: str, password: str, *, flow: Flow, visitor: Visitor, at: datetime) -> Proven | Challenged:
    """Verify the password as ``sign_in()`` does, without opening a session."""
    where = visitor.client_ip
    attempt = events.attempt(username, visitor, at, flow=flow.name)
    with attempt.uncounted_if_too_busy():
        user = passwords.verify(username, password)
    if user is None:
        events.failed(username, where, at, flow=flow.name)
        raise InvalidCredentials(_WRONG)
    try:
        proof = ask_for_second_factor(Proven(user, (auth_methods.PASSWORD,)), flow=flow, visitor=visitor, at=at)
    except AdminRequired:
        attempt.uncount()
        raise
    if isinstance(proof, Challenged):
        attempt.uncount()
    else:
        attempt.succeeded()
    return proof


def ask_for_second_factor(proof: Proven, *, flow: Flow, visitor: Visitor, at: datetime) -> Proven | Challenged:
    """Return the proof of a first method, or a challenge if the account has a second factor that it does not include.

    Every first method calls this at its end. Raises InvalidCredentials, AdminRequired.
    """
    user = proof.user
    if flow.admins_only and not user.may_audit:
        events.failed(user.username, visitor.client_ip, at, flow=flow.name, why=AdminRequired.code)
        raise AdminRequired(_("only admins may sign in here"))
    if not auth_methods.SECOND_FACTORS.isdisjoint(proof.amr) or not selectors.has_second_factor(user):
        return proof
    may_skip = flow.knows_devices and auth_methods.PASSWORD in proof.amr
    if may_skip and remembered_devices.recognize(user, visitor.remembered, at=at):
        return replace(proof, is_remembered=True)
    try:
        return challenges.begin(user, flow.name, amr=proof.amr, at=at)
    except Gone:
        raise InvalidCredentials(_WRONG) from None


@limit_concurrency()
def prove_code(token: str, code: str, *, flow: Flow, visitor: Visitor, at: datetime) -> Proven:
    """Verify the second factor as ``finish_sign_in()`` does, without opening a session."""
    challenge = challenges.find(token, flow.name, at=at)
    user = challenge.user
    try:
        entry = code_entry.begin(user, code, visitor, at, flow=flow.name)
    except Gone:
        raise InvalidChallenge(challenges.OVER) from None
    try:
        challenges.use_try(challenge, at=at)
    except InvalidChallenge:  # the challenge ended in the meantime: the code is not checked
        entry.uncount()
        raise
    proved = methods.use_code(user, code, at=at)
    if not proved:
        entry.record_wrong()
        raise InvalidCode(_("the code is wrong, or was used already"))
    challenges.spend(challenge, at=at)
    if flow.admins_only and not user.may_audit:
        entry.uncount()
        events.failed(user.username, visitor.client_ip, at, flow=flow.name, why=AdminRequired.code)
        raise AdminRequired(_("only admins may sign in here"))
    entry.succeeded()
    return Proven(user, methods.union(challenges.proved(challenge), proved), challenge.pk)


def open_session(proof: Proven, *, flow: Flow, visitor: Visitor, at: datetime) -> SignedIn:
    """Issue a token to an authenticated user and record its session. Raises InvalidCredentials."""
    try:
        with transaction.atomic():
            token = start_session(proof.user, audiences=flow.audiences, amr=proof.amr, visitor=visitor, at=at)
            if proof.challenge is not None:
                sessions.follow(proof.challenge, token.jti)
            record_success(proof, flow=flow, visitor=visitor, at=at)
    except Gone:
        raise InvalidCredentials(_WRONG) from None
    return SignedIn(proof.user, token, proof.amr)


def record_success(proof: Proven, *, flow: Flow, visitor: Visitor, at: datetime) -> None:
    """Record the sign-in as a security event."""
    events.succeeded(proof.user, visitor, at, flow=flow.name, amr=proof.amr, is_remembered=proof.is_remembered)


def start_session(
    user: User, *, audiences: tuple[str, ...], amr: tuple[str, ...], visitor: Visitor, at: datetime
) -> IssuedToken:
    """Issue a token and record its session. Raises Gone."""
    token = tokens.issue(
        user_id=user.pk,
        session_version=user.session_version,
        audiences=audiences,
        amr=amr,
        at=at,
        lifetime=timedelta(hours=system_settings.current().session_hours),
    )
    services.open_session(user, token.jti, at=at, expires_at=token.expires_at, visitor=visitor, amr=amr)
    return token


@revisions.one_at_a_time
def replace_session(
    user: User, jti: uuid.UUID, *, audiences: tuple[str, ...], amr: tuple[str, ...], visitor: Visitor, at: datetime
) -> IssuedToken:
    """Replace a session by a new one. Raises Gone, and opens none, if the session has already ended."""
    services.end_live_session(jti, at=at)
    token = start_session(user, audiences=audiences, amr=amr, visitor=visitor, at=at)
    sessions.replace(jti, token.jti)
    return token


def _purpose(token: str, flow: Flow) -> str:
    """Return the purpose of a passkey challenge: the flow, and the sign-in challenge to answer, if any."""
    return f"{flow.name} {sha256(token.encode('utf-8', 'replace')).hexdigest() if token else ''}"
