"""Forms of the account page that create and delete the visitor's tokens. There is no form to create API tokens."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from accounts.api_tokens import services as api_tokens
from accounts.models import ApiToken
from gatewall.kernel.refusals import Gone
from gatewall.portal import pages, token_lists
from gatewall.portal.account_views import AccountForm, overview
from gatewall.portal.form_fields import name_of_form, number_of_form
from gatewall.portal.pages import see_other
from licensing import selectors, services
from policies.access_conditions import canonical_path

_NEVER = "never"
_EVERYWHERE = ""


class IssueGitToken(AccountForm):
    """Create a git token, and show it once."""

    def send(self, request: HttpRequest) -> HttpResponse:
        name, user = name_of_form(request), self.caller.user
        self.reauthenticate(request)
        _row, token = services.issue_git_token(
            actor=user.username, user_id=user.pk, name=name, expires_at=_end_in(request)
        )
        return overview(request, self.caller, 201, new_token=token.text)


class IssueAppToken(AccountForm):
    """Create an app token for one site or for all, and show it once."""

    def send(self, request: HttpRequest) -> HttpResponse:
        name, user = name_of_form(request), self.caller.user
        domain, path = request.POST.get("domain", _EVERYWHERE), request.POST.get("prefix", "").strip()
        self.reauthenticate(request)
        domains = [row for row in token_lists.domains_of(user) if row.name == domain]
        if domain != _EVERYWHERE and not domains:
            raise Gone("there is no such site")
        _row, token = services.issue_app_token(
            actor=user.username,
            user_id=user.pk,
            name=name,
            expires_at=_end_in(request),
            all_domains=domain == _EVERYWHERE,
            authorized_domains=domains,
            path_prefixes=[canonical_path(path)] if path else [],
        )
        return overview(request, self.caller, 201, new_app_token=token.text)


class _Revoke(AccountForm):
    """Delete one of the visitor's tokens."""

    done = ""

    def send(self, request: HttpRequest) -> HttpResponse:
        row = self.tokens_of(self.caller.user.pk).filter(pk=number_of_form(request)).first()
        if row is None:
            raise Gone("there is no such token")
        self.revoke(row, self.caller.user.username)
        return see_other(pages.account_url(done=self.done))

    def tokens_of(self, user_id: int) -> QuerySet[Any]:
        """Return the tokens of a user."""
        raise NotImplementedError

    def revoke(self, row: Any, actor: str) -> None:
        """Delete a token. Raises Gone."""
        services.revoke(row, actor=actor)


class RevokeGitToken(_Revoke):
    """Delete one of the visitor's git tokens."""

    done = "git-token"

    def tokens_of(self, user_id: int) -> QuerySet[Any]:
        return selectors.git_tokens_of(user_id)


class RevokeAppToken(_Revoke):
    """Delete one of the visitor's app tokens."""

    done = "app-token"

    def tokens_of(self, user_id: int) -> QuerySet[Any]:
        return selectors.app_tokens_of(user_id)


class RevokeApiToken(_Revoke):
    """Delete one of the visitor's API tokens."""

    done = "api-token"

    def tokens_of(self, user_id: int) -> QuerySet[Any]:
        return ApiToken.objects.filter(user_id=user_id)

    def revoke(self, row: Any, actor: str) -> None:
        api_tokens.revoke(row, actor=actor)


def _end_in(request: HttpRequest) -> datetime | None:
    """Return the expiry that the form asks for, None for never."""
    days = request.POST.get("days", "")
    if days == _NEVER:
        return None
    life = timedelta(days=int(days)) if days in map(str, token_lists.TOKEN_DAYS) else None
    return pages.now() + life if life else services.usual_end_of_token()
