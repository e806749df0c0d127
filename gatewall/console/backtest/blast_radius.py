"""Who signed in lately from where somebody means to shut out: a page, and a fragment for others."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from gatewall.api.translation import translated
from gatewall.console.site.pages import OperatorPage
from gatewall.engine.messages import Refused
from gatewall.publication.resources import title_of
from gatewall.whatif.backtest import blast_radius


def radius_of(*, network: str = "", country: str = "") -> dict[str, Any]:
    """Return what the fragment ``console/_blast_radius.html`` shows. Raises Refused."""
    now = timezone.now()
    found = blast_radius.of_network(network, now) if network else blast_radius.of_country(country, now)
    shown = [{"row": each, "kind": title_of(each.kind)} for each in found.visitors]
    return {"radius": found, "visitors": shown, "network": network, "country": country.upper()}


class BlastRadiusPage(OperatorPage):
    """Who was let in from ``?network=`` or ``?country=`` in the last 30 days."""

    template, title = "console/blast_radius.html", _("Blast radius")

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show who signed in from there, or why nobody can say."""
        named = {name: request.GET[name].strip() for name in ("network", "country") if request.GET.get(name)}
        if not named:
            return self.shown(request)
        if len(named) == 2 or set(request.GET) - {"network", "country"}:
            words = _("One network or one country, and nothing else.")
            return self.shown(request, HTTPStatus.BAD_REQUEST, refused=words, **named)
        try:
            return self.shown(request, **radius_of(**named))
        except Refused as error:
            return self.shown(request, HTTPStatus.BAD_REQUEST, refused=translated(error.message), **named)
