"""Single sign-on for several parent domains: hand a session from home to the guard page of another parent domain.

A one-time code names the session. It is valid for one guard page, one browser and one minute: a code read from a URL
gives no access in another browser, and cannot sign another person's browser in to an attacker's session.
"""

import hashlib
import hmac
import secrets
import uuid
from datetime import datetime, timedelta

from accounts import selectors, tokens
from accounts.models import HandOff
from accounts.sign_in import events
from accounts.tokens import IssuedToken
from accounts.visitor import Visitor
from gatewall.kernel.refusals import Refusal

LIFETIME = timedelta(seconds=60)
FLOW = "hand-off"


class HandOffRefused(Refusal):
    """The code is unknown, used, expired, or for another guard page or browser, or its session has ended."""

    code = "invalid-hand-off"


def new_browser_secret() -> str:
    """Return a random secret that the browser keeps during the hand-off of its session."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return the SHA-256 digest of a code, ``state`` or browser secret, in hexadecimal."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def begin(jti: uuid.UUID, *, guard: str, browser: str, at: datetime) -> str:
    """Return a code that hands this session to a guard page; it replaces an earlier code for that page.

    ``guard`` is the public URL of the page, ``browser`` the digest of the secret that the browser keeps there.
    """
    code = secrets.token_urlsafe(32)
    values = {"digest": digest(code), "browser": browser, "expires_at": at + LIFETIME}
    HandOff.objects.update_or_create(session_id=jti, guard=guard, defaults=values)
    return code


def finish(code: str, *, guard: str, browser_secret: str, visitor: Visitor, at: datetime) -> IssuedToken:
    """Use up a code, and return a token of the session that it names. Raises HandOffRefused.

    The token has the session's id: one sign-out ends it everywhere. It is for sites and the own account, not the API.
    """
    found = HandOff.objects.select_related("session__user").filter(digest=digest(code)).first()
    if found is None or not HandOff.objects.filter(pk=found.pk, digest=found.digest).delete()[0]:
        raise HandOffRefused("the code was used already, or has expired")
    is_theirs = hmac.compare_digest(found.browser, digest(browser_secret))
    if found.guard != guard or not is_theirs:
        events.failed(found.session.user.username, visitor.client_ip, at, flow=FLOW, why="another-browser")
        raise HandOffRefused("the code is for another guard page or browser")
    session = selectors.live_session(str(found.session_id), at) if at < found.expires_at else None
    if session is None:
        raise HandOffRefused("the code was used already, or has expired")
    return tokens.issue_again(session)
