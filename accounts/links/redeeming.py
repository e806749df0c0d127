"""Use one-time links: set a password, or accept an invitation with a passkey instead.

A user with a second factor must prove it first, by a code or a passkey: access to the mailbox is not enough.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.hashers import make_password

from accounts import selectors, services
from accounts.links import links
from accounts.models import AccountLink, Passkey, User
from accounts.passkeys import services as passkeys
from accounts.passkeys.services import Registered
from accounts.services import EncodedPassword, LastAdmin, UsernameTaken
from accounts.sign_in import login, passkey, reauthentication
from accounts.sign_in.passkey import PasskeyPage
from accounts.token_removal import KINDS_OF_TOKENS
from accounts.visitor import Visitor
from gatewall.engine.messages import gettext_noop as _
from gatewall.policy import revisions

FLOW = "one-time-link"
_WRONG = _("the code is wrong, or was used already")
Proof = Callable[[], None]
"""Function that proves the second factor of the link's user. Raises a Refusal."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The updated user of an invitation that was accepted with a passkey, and the passkey."""

    user: User
    registered: Registered


def needs_proof(user: User) -> bool:
    """Return whether the user must prove their second factor to use a link."""
    return selectors.has_second_factor(user)


def proof_by_code(link: AccountLink, code: str, *, visitor: Visitor, at: datetime) -> Proof:
    """Return the proof by a code, which is used up then. It raises InvalidCode, TooManyAttempts, CodeEntryLocked."""

    def prove() -> None:
        if not (code and reauthentication.prove_code(link.user, code, visitor=visitor, at=at)):
            raise login.InvalidCode(_WRONG)

    return prove


def proof_by_passkey(link: AccountLink, answer: object, page: PasskeyPage, *, visitor: Visitor, at: datetime) -> Proof:
    """Return the proof by the answer of an authenticator. It raises PasskeyRefused, TooManyAttempts."""

    def prove() -> None:
        passkey.prove(answer, page, _purpose(link), user=link.user, flow=FLOW, visitor=visitor, at=at)

    return prove


def redeem(
    link: AccountLink,
    *,
    password: str,
    proof: Proof,
    username: str = "",
    revoke_tokens: bool = False,
    visitor: Visitor,
    at: datetime,
) -> User:
    """Set the password, and the name if the invitation allows it; end every session and the link.

    A refusal leaves the link as it was. Raises ValidationError, what the proof raises, LinkOver, UsernameTaken, Gone.
    """
    encoded = services.encode_password(password)
    if needs_proof(link.user):
        proof()
    return _use(link, encoded, username, revoke_tokens=revoke_tokens, client_ip=visitor.client_ip)


def begin_proof(link: AccountLink, page: PasskeyPage, *, at: datetime) -> dict[str, Any]:
    """Return the options of ``navigator.credentials.get()`` to prove a passkey of the link's user."""
    return passkey.begin(page, _purpose(link), user=link.user, at=at)


def begin_passkey(link: AccountLink, page: PasskeyPage, *, username: str, at: datetime) -> dict[str, Any]:
    """Return the options of ``navigator.credentials.create()`` for the user of an invitation.

    Checks the chosen name now, as the device stores it. Raises ValidationError, UsernameTaken, TooManyPasskeys.
    """
    name = _name(link, username)
    others = {each.name for each in User._meta.concrete_fields} - {"username"}  # noqa: SLF001 - public
    User(username=name).clean_fields(exclude=others)
    owner = selectors.user_by_name(name)
    if owner is not None and owner.pk != link.user_id:
        raise UsernameTaken(f"there is a user named {name!r} already")
    return passkeys.begin(link.user, page, _purpose(link), username=name, at=at)


def accept_with_passkey(
    link: AccountLink, answer: object, *, name: str, username: str, page: PasskeyPage, visitor: Visitor, at: datetime
) -> Accepted:
    """Accept an invitation with a passkey; the user then has no password. Ends every session and the link.

    A refusal leaves the link as it was. Raises InvalidCode for a user with a second factor, PasskeyRefused, LastAdmin,
    ValidationError, LinkOver, UsernameTaken, Gone.
    """
    _refuse_if_proof_is_needed(link)
    row = passkeys.verified(link.user, answer, name=name, page=page, session=_purpose(link), visitor=visitor, at=at)
    user, registered = _accept(link, row, username, visitor, at)
    return Accepted(user, registered)


@revisions.one_at_a_time
def _accept(link: AccountLink, row: Passkey, username: str, visitor: Visitor, at: datetime) -> tuple[User, Registered]:
    _refuse_if_proof_is_needed(link)  # again under the lock: a factor may have been added in the meantime
    if link.user.is_staff and not selectors.has_active_admin_besides(link.user):
        raise LastAdmin(_("%(user)s is the last active admin"), user=link.user.username)
    no_password = EncodedPassword(make_password(None))
    user = _use(link, no_password, username, revoke_tokens=False, client_ip=visitor.client_ip)
    row.user, row.created_by = user, user.username
    return user, passkeys.save(row, visitor, at=at)


@revisions.one_at_a_time
def _use(link: AccountLink, encoded: EncodedPassword, username: str, *, revoke_tokens: bool, client_ip: str) -> User:
    links.spend(link)
    name = _name(link, username)
    renamed: dict[str, Any] = {} if name == link.user.username else {"username": name}
    return services.change_user(
        link.user,
        actor=link.user.username,
        password=encoded,
        revoke_tokens=KINDS_OF_TOKENS if revoke_tokens else (),
        client_ip=client_ip,
        **renamed,
    )


def _refuse_if_proof_is_needed(link: AccountLink) -> None:
    if needs_proof(link.user):
        raise login.InvalidCode(_WRONG)


def _name(link: AccountLink, username: str) -> str:
    """Return the name that the user has afterwards: the chosen one, if the invitation allows it."""
    return username if link.may_rename and username else link.user.username


def _purpose(link: AccountLink) -> str:
    """Return the purpose of a passkey challenge; the digest binds the challenge to the link."""
    return f"{FLOW} {link.purpose} {link.digest}"
