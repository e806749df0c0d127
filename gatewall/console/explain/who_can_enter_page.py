"""The page that shows who can enter a path of a host."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from gatewall.api.translation import translated
from gatewall.console.site.pages import OperatorPage
from gatewall.engine.hosts import Access
from gatewall.engine.model import Effect
from gatewall.replay.entrants import Entry
from gatewall.whatif.who_can_enter import NotReadable, who_can_enter
from gatewall.whatif.who_can_enter_view import Asked
from policies.models import AuthorizedDomain

ASKED = {
    Access.PUBLIC: _("nothing: open to everybody"),
    Access.AUTHENTICATED: _("a sign-in"),
    Access.TWO_FACTOR: _("a second factor"),
    Access.PHISHING_RESISTANT: _("a passkey"),
    Access.DENIED: _("refused"),
}
OUTCOMES = {Effect.ALLOW: _("enters"), Effect.CHALLENGE: _("is asked to sign in"), Effect.DENY: _("is refused")}
_MOST_HOSTS = 500


class WhoCanEnterPage(OperatorPage):
    """Who can enter ``?host=&path=&method=``: people, groups and networks."""

    template, title = "console/who_can_enter.html", _("Who can enter?")

    def render(self, request: HttpRequest, status: HTTPStatus = HTTPStatus.OK, /, **context: Any) -> HttpResponse:
        names = AuthorizedDomain.objects.order_by("name").values_list("name", flat=True)[:_MOST_HOSTS]
        hosts = [name for name in names if not name.startswith("*.")]
        asked = {name: request.GET.get(name, default) for name, default in (("path", "/"), ("method", "GET"))}
        return super().render(request, status, hosts=hosts, host=request.GET.get("host", ""), **asked, **context)

    def get(self, request: HttpRequest) -> HttpResponse:
        if not request.GET.get("host"):
            return self.render(request)
        form = Asked(data={name: request.GET[name] for name in ("host", "path", "method") if request.GET.get(name)})
        if not form.is_valid():
            refused = "; ".join(str(each) for errors in form.errors.values() for each in errors)
            return self.render(request, HTTPStatus.BAD_REQUEST, refused=refused)
        try:
            found = who_can_enter(**form.validated_data)
        except NotReadable as error:
            return self.render(request, HTTPStatus.BAD_REQUEST, refused=translated(error.message))
        return self.render(
            request,
            found=found,
            everybody=_shown(found.everybody),
            tables=[
                (_("People"), "admin:accounts_user_change", [_shown(each) for each in found.people]),
                (
                    _("Groups, for a member without a scope of their own"),
                    "admin:policies_group_change",
                    [_shown(each) for each in found.groups],
                ),
                (_("Networks, without signing in"), "", [_shown(each) for each in found.networks]),
            ],
        )


def _shown(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "name": entry.name,
        "state": entry.effect.value,
        "outcome": OUTCOMES.get(entry.effect, entry.effect.value),
        "asked": ASKED[entry.access],
        "rule": entry.rule,
        "why": translated(entry.reason.words),
    }
