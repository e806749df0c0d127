"""Blast radius of a block: subjects recently let in from an address, network or country; page and fragment."""

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
from policies.country_choices import NO_COUNTRY, country_choices


def radius_of(*, network: str = "", country: str = "") -> dict[str, Any]:
    """Return the context of the fragment ``console/_blast_radius.html``. Raises Refused."""
    now = timezone.now()
    radius = blast_radius.of_network(network, now) if network else blast_radius.of_country(country, now)
    visitors = [{"row": each, "kind": title_of(each["kind"])} for each in radius.visitors]
    return {"radius": radius, "visitors": visitors, "network": network, "country": country.upper()}


class BlastRadiusPage(OperatorPage):
    """Subjects that were let in from ``?network=`` or ``?country=`` in the last 30 days."""

    template, title = "console/blast_radius.html", _("Blast radius")

    def render(self, request: HttpRequest, status: HTTPStatus = HTTPStatus.OK, /, **context: Any) -> HttpResponse:
        countries = [("", NO_COUNTRY), *country_choices()]
        return super().render(request, status, countries=countries, **context)

    def get(self, request: HttpRequest) -> HttpResponse:
        named = {name: request.GET[name].strip() for name in ("network", "country") if request.GET.get(name)}
        if not named:
            return self.render(request)
        if len(named) == 2 or set(request.GET) - {"network", "country"}:
            words = _("Enter one network or one country.")
            return self.render(request, HTTPStatus.BAD_REQUEST, refused=words, **named)
        try:
            return self.render(request, **radius_of(**named))
        except Refused as error:
            return self.render(request, HTTPStatus.BAD_REQUEST, refused=translated(error.message), **named)
