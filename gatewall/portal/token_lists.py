"""The visitor's tokens for the account page: lists of git, app and API tokens, and the choices for a new one."""

import re
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest

from accounts.models import User
from audit.figures.used_resources import note_uses
from gatewall.engine.model import SubjectKind
from licensing import selectors
from policies.models import AuthorizedDomain

TOKEN_DAYS = (30, 90, 365)
_ROWS, _APP_ROWS, _API_ROWS = 7, 5, 3  # per page
_GIT_LABELS = frozenset({"git", "gitea", "forgejo", "gitlab", "gogs", "code", "repo", "repos", "src", "scm"})
_MOST_DOMAINS = 50
"""Maximum number of domains in the form; the API accepts others."""


def lists_of(request: HttpRequest, user: User) -> dict[str, Any]:
    """Return the pages of the visitor's tokens with their last uses, and the choices of the forms for new ones."""
    git_tokens = Paginator(selectors.git_tokens_of(user.pk).order_by("-pk"), _ROWS).get_page(request.GET.get("tokens"))
    app_tokens = Paginator(selectors.app_tokens_of(user.pk).order_by("-pk"), _APP_ROWS).get_page(
        request.GET.get("apps")
    )
    api_tokens = Paginator(user.api_tokens.order_by("-pk"), _API_ROWS).get_page(request.GET.get("api"))
    note_uses(SubjectKind.GIT_TOKEN.value, list(git_tokens))
    note_uses(SubjectKind.APP_TOKEN.value, list(app_tokens))
    domains = [domain.name for domain in domains_of(user)]
    return {
        "git_tokens": git_tokens,
        "may_need_git": bool(git_tokens.object_list) or any(map(_is_for_git, domains)),
        "app_tokens": app_tokens,
        "api_tokens": api_tokens,
        "token_domains": domains,
        "token_days": TOKEN_DAYS,
    }


def _is_for_git(domain: str) -> bool:
    """Return whether a site's name suggests git; if none does, the page collapses the list of git tokens when empty."""
    return not _GIT_LABELS.isdisjoint(re.split(r"[.-]", domain))


def domains_of(user: User) -> list[AuthorizedDomain]:
    """Return the registered domains that the user may enter, by name."""
    domains = AuthorizedDomain.objects.order_by("name")
    groups = list(user.groups.all())
    if not (user.is_admin or user.all_domains or any(group.all_domains for group in groups)):
        domains = (domains.filter(users=user) | domains.filter(groups__in=groups)).distinct()
    return list(domains[:_MOST_DOMAINS])
