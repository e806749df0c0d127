"""Set a password through a one-time link."""

from datetime import datetime
from typing import Any

from accounts import selectors, services
from accounts.links import links
from accounts.models import AccountLink, User
from accounts.services import EncodedPassword
from accounts.sign_in import login, reauthentication
from accounts.token_removal import KINDS_OF_TOKENS
from accounts.visitor import Visitor
from gatewall.engine.messages import gettext_noop as _
from gatewall.policy import revisions


def needs_code(user: User) -> bool:
    """Return whether the user must prove their second factor to use a link: a mailbox is not enough then."""
    return selectors.has_second_factor(user)


def redeem(
    link: AccountLink,
    *,
    password: str,
    code: str = "",
    username: str = "",
    revoke_tokens: bool = False,
    visitor: Visitor,
    at: datetime,
) -> User:
    """Set the password, and the name if the invitation allows it; end every session and the link.

    A refusal leaves the link as it was. Raises ValidationError, InvalidCode, TooManyAttempts, CodeEntryLocked,
    LinkOver, UsernameTaken, Gone.
    """
    encoded = services.encode_password(password)
    if needs_code(link.user):
        _prove(link.user, code, visitor, at)
    new_name = username if link.may_rename and username else link.user.username
    return _set_password(link, encoded, new_name, revoke_tokens=revoke_tokens, client_ip=visitor.client_ip)


def _prove(user: User, code: str, visitor: Visitor, at: datetime) -> None:
    if not (code and reauthentication.prove_code(user, code, visitor=visitor, at=at)):
        raise login.InvalidCode(_("the code is wrong, or was used already"))


@revisions.one_at_a_time
def _set_password(
    link: AccountLink, encoded: EncodedPassword, username: str, *, revoke_tokens: bool, client_ip: str
) -> User:
    links.spend(link)
    renamed: dict[str, Any] = {} if username == link.user.username else {"username": username}
    return services.change_user(
        link.user,
        actor=link.user.username,
        password=encoded,
        revoke_tokens=KINDS_OF_TOKENS if revoke_tokens else (),
        client_ip=client_ip,
        **renamed,
    )
