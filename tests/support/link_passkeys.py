"""One-time links and passkeys for tests: the calls that the script of the pages makes."""

import json
from typing import Any

from django.http import HttpResponse
from django.utils import timezone

from accounts.links import links
from accounts.models import LinkPurpose, User
from tests.support.authenticator import Authenticator
from tests.support.visitor import Visitor

NEW = "another battery staple"


def a_link(user: User, purpose: LinkPurpose = LinkPurpose.INVITATION, **options: Any) -> str:
    """Return the token of a new link."""
    return links.issue(user, purpose, at=timezone.now(), created_by="alice", **options).token.text


def begin(visitor: Visitor, token: str, path: str = "/invitation", **fields: Any) -> HttpResponse:
    """Ask for the options of a ceremony on the page behind a link."""
    return visitor.send(f"{path}/passkey/begin", token=token, **fields)


def accept(
    visitor: Visitor,
    token: str,
    authenticator: Authenticator,
    begun_by: Visitor | None = None,
    begun_with: str | None = None,
    **fields: Any,
) -> HttpResponse:
    """Accept an invitation with a passkey, whose challenge another browser or link may have begun."""
    begun = json.loads(begin(begun_by or visitor, begun_with or token, **fields).content)
    answer = json.dumps(authenticator.create(begun["public_key"]))
    return visitor.send("/invitation/passkey", token=token, credential=answer, **{"name": "phone", **fields})


def reset(
    visitor: Visitor, token: str, authenticator: Authenticator, path: str = "/password/new", **fields: Any
) -> HttpResponse:
    """Set a new password with a passkey as proof."""
    answer = json.dumps(authenticator.get(json.loads(begin(visitor, token, path).content)["public_key"]))
    return visitor.send(path, token=token, new=NEW, credential=answer, **fields)
