"""Issue and revoke machine credentials. A token is returned only when it is created."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.utils import timezone

from gatewall.credentials.machine import APP_TOKEN_PREFIX, GIT_TOKEN_PREFIX, LICENSE_PREFIX, MachineToken, new_token
from gatewall.engine.messages import gettext_noop as _
from gatewall.engine.segments import shard_of_app_token, shard_of_git_token, shard_of_license
from gatewall.kernel.changes import describe, difference
from gatewall.kernel.refusals import Conflict, Gone
from gatewall.policy import revisions
from licensing import selectors
from licensing.models import AppToken, GitToken, License, MachineCredential
from policies import rows
from policies.models import AuthorizedDomain
from policies.rows import still_registered

MAX_GIT_TOKENS = 50
"""Git tokens per user, including expired ones: every worker keeps all of them in memory."""


MAX_APP_TOKENS = 50
"""App tokens per user, including expired ones, for the same reason."""


class TooManyAppTokens(Conflict):
    """The user has the maximum number of app tokens."""

    code = "too-many-app-tokens"


class TooManyGitTokens(Conflict):
    """The user has the maximum number of git tokens."""

    code = "too-many-git-tokens"


@revisions.one_at_a_time
def issue_license(
    *, actor: str, name: str, authorized_domains: Iterable[AuthorizedDomain] = (), **values: Any
) -> tuple[License, MachineToken]:
    """Create a license; return it with its token. Raises ValidationError, Duplicate, DomainRemoved."""
    license_ = License(name=name, created_by=actor, **values)
    token = _save_new(license_, LICENSE_PREFIX)
    license_.authorized_domains.set(still_registered(authorized_domains))
    made = difference(None, describe(license_))
    revisions.advance(shard_of(license_), actor=actor, changes=[made])
    return license_, token


@revisions.one_at_a_time
def change_license(
    license_: License, *, actor: str, authorized_domains: Iterable[AuthorizedDomain] | None = None, **values: Any
) -> License:
    """Change a license, except its token. Raises ValidationError, Duplicate, DomainRemoved, Gone."""
    license_ = revisions.as_it_is_now(license_)
    before = describe(license_)
    for name, value in values.items():
        setattr(license_, name, value)
    rows.check_and_save(license_, repr(license_.name))
    if authorized_domains is not None:
        license_.authorized_domains.set(still_registered(authorized_domains))
    changed = difference(before, describe(license_))
    revisions.advance(shard_of(license_), actor=actor, changes=[changed])
    return license_


def usual_end_of_token() -> datetime:
    """Return the default expiry of a git token or app token created now."""
    return timezone.now() + timedelta(days=90)


@revisions.one_at_a_time
def issue_git_token(
    *, actor: str, user_id: int, name: str, expires_at: datetime | None
) -> tuple[GitToken, MachineToken]:
    """Create a git token of a user; return its row and its token. ``expires_at`` None: never.

    Raises ValidationError, Duplicate, TooManyGitTokens, Gone.
    """
    if not selectors.user_exists(user_id):
        raise Gone(_("the user was deleted in the meantime"))
    if selectors.git_tokens_of(user_id).count() >= MAX_GIT_TOKENS:
        raise TooManyGitTokens(f"a user has at most {MAX_GIT_TOKENS} git tokens: delete one that is not needed")
    row = GitToken(user_id=user_id, name=name, expires_at=expires_at, created_by=actor)
    token = _save_new(row, GIT_TOKEN_PREFIX)
    revisions.advance(shard_of(row), actor=actor, changes=[difference(None, describe(row))])
    return row, token


@revisions.one_at_a_time
def issue_app_token(
    *,
    actor: str,
    user_id: int,
    name: str,
    expires_at: datetime | None,
    all_domains: bool = False,
    authorized_domains: Iterable[AuthorizedDomain] = (),
    path_prefixes: Iterable[str] = (),
) -> tuple[AppToken, MachineToken]:
    """Create an app token of a user; return its row and its token. ``expires_at`` None: never.

    Raises ValidationError, Duplicate, TooManyAppTokens, DomainRemoved, Gone.
    """
    domains, prefixes = list(authorized_domains), list(dict.fromkeys(path_prefixes))
    if not domains and not all_domains:
        raise ValidationError({"authorized_domains": _("name a domain, or choose all domains")})
    if not selectors.user_exists(user_id):
        raise Gone(_("the user was deleted in the meantime"))
    if selectors.app_tokens_of(user_id).count() >= MAX_APP_TOKENS:
        raise TooManyAppTokens(f"a user has at most {MAX_APP_TOKENS} app tokens: delete one that is not needed")
    row = AppToken(user_id=user_id, name=name, expires_at=expires_at, created_by=actor)
    row.all_domains, row.path_prefixes = all_domains, prefixes
    token = _save_new(row, APP_TOKEN_PREFIX)
    row.authorized_domains.set(still_registered(domains))
    revisions.advance(shard_of(row), actor=actor, changes=[difference(None, describe(row))])
    return row, token


def revoke(row: License | GitToken | AppToken, *, actor: str) -> None:
    """Revoke and delete a license, git token or app token. Raises Gone."""
    rows.delete(row, shard_of(row), actor=actor)


def shard_of(row: MachineCredential) -> str:
    """Return the shard of a machine credential."""
    if isinstance(row, License):
        return shard_of_license(row.digest)
    return shard_of_git_token(row.digest) if isinstance(row, GitToken) else shard_of_app_token(row.digest)


def _save_new(row: MachineCredential, prefix: str) -> MachineToken:
    token = new_token(prefix)
    row.prefix, row.digest = token.prefix, token.digest
    rows.check_and_save(row, repr(row.name))
    return token
