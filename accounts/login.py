"""Sign in: from a username and password, and a code if the account has a second factor, to a session."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.hashers import check_password, make_password
from django.db import transaction
from django.utils.functional import SimpleLazyObject

from accounts import challenges, code_entry, second_factor, selectors, services, sign_in_events, tokens
from accounts.challenges import Challenged, InvalidChallenge
from accounts.models import User
from accounts.sign_ins_at_once import few_at_once
from accounts.tokens import API, GATE, IssuedToken
from accounts.validators import MAX_LENGTH
from gatewall.engine.messages import gettext_noop as _
from gatewall.kernel.refusals import Forbidden, Gone, Refusal
from gatewall.policy import revisions, system_settings

_WRONG = _("the user name or the password is wrong")
PASSWORD_METHOD = "pwd"
_NOBODY = SimpleLazyObject(lambda: make_password("the password of nobody"))


class InvalidCredentials(Refusal):
    """Unknown user, wrong password or disabled account: the caller is not told which."""

    code = "invalid-credentials"


class InvalidCode(Refusal):
    """The second factor is wrong, or was used already."""

    code = "invalid-code"


class AdminRequired(Forbidden):
    """The password is right, but only admins may sign in here."""

    code = "admin-required"


@dataclass(frozen=True, slots=True)
class Flow:
    """A way in: its name, for whom it is, and what its sessions open."""

    name: str
    audiences: tuple[str, ...]
    admins_only: bool = False


LOGIN = Flow("login", (GATE, API))
ADMIN_LOGIN = Flow("admin-login", (GATE, API), admins_only=True)
GUARD = Flow("guard", (GATE,))
ADMIN_SITE = Flow("admin-site", (), admins_only=True)
"""The Django admin, which opens a session of its own."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Where a sign-in comes from, for the list of sessions, and whether straight from this machine."""

    client_ip: str
    user_agent: str
    is_at_this_machine: bool = False


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A completed sign-in."""

    user: User
    token: IssuedToken
    amr: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proven:
    """A user who has proved to be one, by these methods (RFC 8176)."""

    user: User
    amr: tuple[str, ...]


def sign_in(username: str, password: str, *, flow: Flow, visitor: Visitor, at: datetime) -> SignedIn | Challenged:
    """Open a session for the user whose password this is, or ask for the second factor that they have.

    Raises InvalidCredentials, AdminRequired, TooManyAttempts, TooBusy.
    """
    proof = prove_password(username, password, flow=flow, visitor=visitor, at=at)
    return proof if isinstance(proof, Challenged) else open_session(proof, flow=flow, visitor=visitor, at=at)


def finish_sign_in(token: str, code: str, *, flow: Flow, visitor: Visitor, at: datetime) -> SignedIn:
    """Open a session for the user who answers their challenge with a code of their second factor.

    Raises InvalidChallenge, InvalidCode, AdminRequired, TooManyAttempts, CodeEntryLocked.
    """
    proof = prove_code(token, code, flow=flow, visitor=visitor, at=at)
    try:
        return open_session(proof, flow=flow, visitor=visitor, at=at)
    except InvalidCredentials:
        raise InvalidChallenge(challenges.OVER) from None


@few_at_once()
def prove_password(username: str, password: str, *, flow: Flow, visitor: Visitor, at: datetime) -> Proven | Challenged:
    """Check the first factor, as ``sign_in()`` does, and open nothing."""
    where, at_home = visitor.client_ip, visitor.is_at_this_machine
    attempt = sign_in_events.attempt(username, where, at, flow=flow.name, is_at_home=at_home)
    with attempt.unless_too_busy():
        user = verify_password(username, password)
    if user is None:
        sign_in_events.failed(username, where, at, flow=flow.name)
        raise InvalidCredentials(_WRONG)
    if flow.admins_only and not user.is_admin:
        attempt.was_no_failure()
        sign_in_events.failed(username, where, at, flow=flow.name, why=AdminRequired.code)
        raise AdminRequired(_("only admins may sign in here"))
    if selectors.has_second_factor(user):
        attempt.was_no_failure()
        return _challenge(user, flow, at)
    attempt.succeeded()
    return Proven(user, (PASSWORD_METHOD,))


def _challenge(user: User, flow: Flow, at: datetime) -> Challenged:
    try:
        return challenges.begin(user, flow.name, at=at)
    except Gone:
        raise InvalidCredentials(_WRONG) from None


@few_at_once()
def prove_code(token: str, code: str, *, flow: Flow, visitor: Visitor, at: datetime) -> Proven:
    """Check the second factor, as ``finish_sign_in()`` does, and open nothing."""
    challenge = challenges.find(token, flow.name, at=at)
    user = challenge.user
    where, at_home = visitor.client_ip, visitor.is_at_this_machine
    try:
        entry = code_entry.begin(user, code, where, at, flow=flow.name, is_at_home=at_home)
    except Gone:
        raise InvalidChallenge(challenges.OVER) from None
    try:
        challenges.take_a_try(challenge, at=at)
    except InvalidChallenge:  # it ended since it was found: the code is not checked
        entry.was_no_failure()
        raise
    method = second_factor.use_code(user, code, at=at)
    if method is None:
        entry.was_wrong()
        raise InvalidCode(_("the code is wrong, or was used already"))
    challenges.spend(challenge, at=at)
    if flow.admins_only and not user.is_admin:
        entry.was_no_failure()
        sign_in_events.failed(user.username, where, at, flow=flow.name, why=AdminRequired.code)
        raise AdminRequired(_("only admins may sign in here"))
    entry.succeeded()
    return Proven(user, (PASSWORD_METHOD, method))


def open_session(proof: Proven, *, flow: Flow, visitor: Visitor, at: datetime) -> SignedIn:
    """Issue a token to a user who has proved to be one, and record its session. Raises InvalidCredentials."""
    try:
        with transaction.atomic():
            token = start_session(proof.user, audiences=flow.audiences, amr=proof.amr, visitor=visitor, at=at)
            tell_success(proof, flow=flow, visitor=visitor, at=at)
    except Gone:
        raise InvalidCredentials(_WRONG) from None
    return SignedIn(proof.user, token, proof.amr)


def tell_success(proof: Proven, *, flow: Flow, visitor: Visitor, at: datetime) -> None:
    """Record the sign-in among the security events, for whoever opens the session."""
    where, user_agent = visitor.client_ip, visitor.user_agent
    sign_in_events.succeeded(proof.user, where, at, flow=flow.name, amr=proof.amr, user_agent=user_agent)


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
    services.open_session(
        user,
        token.jti,
        at=at,
        expires_at=token.expires_at,
        client_ip=visitor.client_ip,
        user_agent=visitor.user_agent,
        amr=amr,
    )
    return token


@revisions.one_at_a_time
def replace_session(
    user: User, jti: uuid.UUID, *, audiences: tuple[str, ...], amr: tuple[str, ...], visitor: Visitor, at: datetime
) -> IssuedToken:
    """End a session and open another in its place. Raises Gone if it was ended in the meantime, and opens none."""
    services.end_live_session(jti, at=at)
    return start_session(user, audiences=audiences, amr=amr, visitor=visitor, at=at)


def verify_password(username: str, password: str) -> User | None:
    """Return the active user whose password this is, or None after equal work.

    A password that no account can have is not hashed at its full length. Attempts are not counted
    here: a caller who lets strangers try counts them first.
    """
    nobody = str(_NOBODY)  # made once in a process, for whoever comes first: known or not
    user = selectors.user_by_name(username)
    known = user is not None and user.is_active
    encoded = user.password if user is not None and known else nobody
    matches = check_password(password[:MAX_LENGTH], encoded)
    return user if matches and known and len(password) <= MAX_LENGTH else None
