"""Page to protect a site: register its host, choose who may enter, copy the proxy's configuration, and test it."""

from dataclasses import replace
from http import HTTPStatus
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gatewall.api.caller import caller_of
from gatewall.api.own_origins import public_urls
from gatewall.api.service_admin import actor
from gatewall.api.translation import messages_of
from gatewall.console.site.pages import OperatorPage
from gatewall.doctor.report import place_of
from gatewall.engine.hosts import STRICTNESS, Access
from gatewall.kernel.env_reader import ConfigError
from gatewall.kernel.refusals import Refusal
from gatewall.proxy_config import options
from gatewall.proxy_config.rendering import KINDS, PRODUCTS, ConfigFile, can_ask, render, to_paste
from policies import cookie_reach, services
from policies.access_choices import WHO_ENTERS
from policies.models import AuthorizedDomain

_ACCESS_CHOICES = [(each.value, words) for each, words in WHO_ENTERS.items() if each is not Access.DENIED]


class SiteForm(forms.Form):
    """A site: its host, who may enter, the kind of its proxy, and where the site itself listens."""

    site = forms.CharField(max_length=253, label=gettext_lazy("Host of your site"))
    access = forms.ChoiceField(choices=_ACCESS_CHOICES, label=gettext_lazy("Who may enter"), widget=forms.RadioSelect)
    proxy = forms.ChoiceField(choices=[*KINDS.items(), *PRODUCTS.items()], label=gettext_lazy("Your proxy"))
    upstream = forms.CharField(max_length=255, label=gettext_lazy("Where the site listens"))

    def clean_site(self) -> str:
        try:
            return options.site(self.cleaned_data["site"].strip())
        except ConfigError:
            raise ValidationError(_("Enter a host name like app.example.com, without scheme and port.")) from None

    def clean_upstream(self) -> str:
        try:
            return options.address(self.cleaned_data["upstream"].strip(), "--upstream")
        except ConfigError:
            raise ValidationError(_("Enter an address and a port like 127.0.0.1:8000.")) from None


class FirstSite(OperatorPage):
    """The form, and then the proxy's configuration. The query string has the form's values, for a bookmark."""

    template = "console/first_site.html"
    title = gettext_lazy("Protect a site")

    def get(self, request: HttpRequest) -> HttpResponse:
        if not request.GET:
            usual = {"access": Access.AUTHENTICATED.value, "proxy": "nginx", "upstream": "127.0.0.1:8000"}
            return self._page(request, SiteForm(initial=usual))
        form = SiteForm(request.GET)
        return self._page(request, form, HTTPStatus.OK if form.is_valid() else HTTPStatus.BAD_REQUEST)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = SiteForm(request.POST)
        if not form.is_valid():
            return self._page(request, form, HTTPStatus.BAD_REQUEST)
        values = form.cleaned_data
        instead_of = _stricter(values["site"], values["access"])
        if instead_of and request.POST.get("instead_of") != instead_of:
            words = _("%(site)s is registered already, and fewer people may enter. To change that, send this again.")
            form.add_error("access", words % {"site": values["site"]})
            return self._page(request, form, HTTPStatus.CONFLICT, instead_of=instead_of)
        try:
            _register(request, values["site"], values["access"])
        except Refusal as refusal:
            form.add_error(None, messages_of(refusal))
            return self._page(request, form, HTTPStatus.CONFLICT)
        except ValidationError as error:
            form.add_error(None, messages_of(error))
            return self._page(request, form, HTTPStatus.BAD_REQUEST)
        return HttpResponseRedirect(f"{reverse('console:first-site')}?{urlencode(values)}#proxy")

    def _page(
        self, request: HttpRequest, form: SiteForm, status: HTTPStatus = HTTPStatus.OK, *, instead_of: str = ""
    ) -> HttpResponse:
        context = {"form": form, "public_urls": public_urls(), "root": settings.ROOT_PATH, "instead_of": instead_of}
        if form.is_bound and status is HTTPStatus.OK:
            context |= _next_steps(**form.cleaned_data)
        return self.render(request, status, **context)


def _stricter(site: str, access: str) -> str:
    """Return the site and who may enter it now, if these are fewer people than in the form; empty otherwise."""
    domain, rank = AuthorizedDomain.objects.filter(name=site).first(), STRICTNESS.index
    if domain is None or rank(Access(domain.access)) <= rank(Access(access)):
        return ""
    return f"{site} {domain.access}"


def _register(request: HttpRequest, site: str, access: str) -> None:
    """Register the host, or change who may enter it. Raises Refusal, ValidationError."""
    maker, caller = actor(request), caller_of(request)
    if domain := AuthorizedDomain.objects.filter(name=site).first():
        services.change_domain(domain, actor=maker, caller=caller, access=access)
    else:
        services.register_domain(actor=maker, caller=caller, name=site, access=access)


def _next_steps(site: str, access: str, proxy: str, upstream: str) -> dict[str, object]:
    """Return the context of the page once the site is registered: cookie, configuration, and the link to the doctor."""
    kind = "nginx" if proxy in PRODUCTS else proxy
    scheme = "https" if "https" in "".join(public_urls()[:1]) else "http"
    form = {"proxy": kind, "url": f"{scheme}://{site}/", "upstream": upstream}
    return {
        "site": site,
        "is_registered": AuthorizedDomain.objects.filter(name=site).exists(),
        "scope": cookie_reach.scope_for(site),
        "unreached": cookie_reach.unreached(site) if access != Access.PUBLIC.value else None,
        "files": _files(site, proxy, upstream),
        "users": reverse("admin:accounts_user_changelist"),
        "proxy_name": (KINDS | PRODUCTS)[proxy],
        "is_product": proxy in PRODUCTS,
        "control_port": str(settings.GATEWALL_PORT),
        "command": f"gatewall proxy-config {kind} --site {site} --upstream {upstream} --into FOLDER",
        "doctor": f"{reverse('console:doctor')}?{urlencode(form)}",
    }


def _files(site: str, proxy: str, upstream: str) -> list[ConfigFile]:
    place = options.with_guard(replace(place_of(site), upstream=upstream), ",".join(public_urls()))
    if not can_ask(proxy, place.auth):
        return []
    return to_paste(proxy, place) if proxy in PRODUCTS else render(proxy, place)
