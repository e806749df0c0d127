"""Pages that ban or allow a client of an access log entry, through the services of the lists."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from gatewall.api.admin_forms import what_force_does
from gatewall.api.caller import caller_of
from gatewall.api.service_admin import actor
from gatewall.api.translation import messages_of
from gatewall.console.log.log_query import pairs_of
from gatewall.console.log.log_rows import MAX_BACK
from gatewall.console.site import links
from gatewall.console.site.pages import OperatorPage
from gatewall.engine.hosts import DomainTable, Host
from gatewall.kernel.refusals import Refusal
from policies import policy_source, services
from policies.models import AuthorizedDomain
from policies.validators import canonical_network

_DURATIONS: Mapping[str, tuple[timedelta | None, Any]] = {
    "1h": (timedelta(hours=1), gettext_lazy("for an hour")),
    "1d": (timedelta(days=1), gettext_lazy("for a day")),
    "30d": (timedelta(days=30), gettext_lazy("for 30 days")),
    "ever": (None, gettext_lazy("forever")),
}
_CHOICES = [(name, words) for name, (_time, words) in _DURATIONS.items()]
_PREFILLED = frozenset({"network", "decision_id", "host", "back"})


class NetworkForm(forms.Form):
    """A network, a duration and a remark."""

    network = forms.CharField(max_length=64, label=gettext_lazy("Address or network"))
    lasts = forms.ChoiceField(choices=_CHOICES, label=gettext_lazy("How long"), widget=forms.RadioSelect)
    remark = forms.CharField(max_length=500, required=False, label=gettext_lazy("Remark"))
    host = forms.CharField(max_length=255, required=False, widget=forms.HiddenInput)
    back = forms.CharField(max_length=MAX_BACK, required=False, widget=forms.HiddenInput)

    def clean_network(self) -> str:
        return canonical_network(self.cleaned_data["network"])

    @property
    def expires_at(self) -> datetime | None:
        lasts = _DURATIONS[self.cleaned_data["lasts"]][0]
        return timezone.now() + lasts if lasts else None

    @property
    def done(self) -> dict[str, Any]:
        """The parameters of the success message."""
        return {"network": self.cleaned_data["network"], "lasts": _DURATIONS[self.cleaned_data["lasts"]][1]}


class BanForm(NetworkForm):
    """The fields of a ban; ``force`` is offered after a refusal."""

    force = forms.BooleanField(required=False, label=gettext_lazy("Do it anyway"))


class AllowForm(NetworkForm):
    """The fields of an allowlist entry: as narrow as possible by default."""

    everywhere = forms.BooleanField(required=False, label=gettext_lazy("On every host, not on this domain alone"))
    inspect = forms.BooleanField(required=False, initial=True, label=gettext_lazy("WAF rules still apply"))


class _NetworkPage(OperatorPage):
    """Base class of forms about one network, prefilled from the query string."""

    template = "console/network.html"
    form_class: type[NetworkForm]
    usual: str
    verb: str | Promise

    def get(self, request: HttpRequest) -> HttpResponse:
        given = {name: request.GET.get(name, "") for name in _PREFILLED}
        decision = given.pop("decision_id")
        remark = _("after decision %(id)s") % {"id": decision[:36]} if decision else ""
        form = self.form_class(initial={**given, "lasts": self.usual, "remark": remark})
        if set(request.GET) - _PREFILLED or len(request.GET.urlencode()) > 2 * MAX_BACK:
            form = self.form_class({**given, "lasts": self.usual})
            form.add_error(None, _("The URL has parameters that this page does not know."))
        elif given["network"] and not _is_network(given["network"]):
            form = self.form_class({**given, "lasts": self.usual})
        return self._form(request, form)

    def post(self, request: HttpRequest) -> HttpResponse:
        form = self.form_class(request.POST)
        if not form.is_valid():
            return self._form(request, form)
        try:
            done = self.write(request, form)
        except Refusal as refusal:
            form.add_error(None, messages_of(refusal))
            return self._form(request, form, HTTPStatus.CONFLICT, overrides=what_force_does(refusal))
        except ValidationError as error:
            form.add_error(None, messages_of(error))
            return self._form(request, form)
        messages.success(request, done)
        return HttpResponseRedirect(_return_url(form.cleaned_data["back"]))

    def write(self, request: HttpRequest, form: Any) -> str:
        """Write the entry and return a success message. Raises Refusal, ValidationError."""
        raise NotImplementedError

    def _form(
        self, request: HttpRequest, form: NetworkForm, status: HTTPStatus = HTTPStatus.OK, *, overrides: object = ""
    ) -> HttpResponse:
        if form.errors and status is HTTPStatus.OK:
            status = HTTPStatus.BAD_REQUEST
        network = str(form["network"].value() or "")
        host = str(form["host"].value() or "")
        blast = links.blast_radius(network) if _is_network(network) else ""
        context = {"form": form, "verb": self.verb, "blast": blast, "domain": _domain_of(host), "host": host}
        return self.render(request, status, **context, overrides=overrides)


class Ban(_NetworkPage):
    """Create a blocklist entry."""

    title = gettext_lazy("Ban a client")
    verb = gettext_lazy("Ban")
    form_class = BanForm
    usual = "1d"

    def write(self, request: HttpRequest, form: BanForm) -> str:
        values = form.cleaned_data
        chosen = {name: values[name] for name in ("network", "remark", "force")}
        services.block_network(actor=actor(request), caller=caller_of(request), expires_at=form.expires_at, **chosen)
        return _("%(network)s is banned %(lasts)s.") % form.done


class Allow(_NetworkPage):
    """Create an allowlist entry, by default for the domain of the log entry."""

    title = gettext_lazy("Allow a client")
    verb = gettext_lazy("Allow")
    form_class = AllowForm
    usual = "1h"

    def write(self, request: HttpRequest, form: AllowForm) -> str:
        values = form.cleaned_data
        domain = None if values["everywhere"] else _domain_of(values["host"])
        if domain is None and not values["everywhere"]:
            raise ValidationError(_("There is no domain to limit it to. Choose every host."))
        chosen = {name: values[name] for name in ("network", "remark", "inspect")}
        services.allow_network(actor=actor(request), domain=domain, expires_at=form.expires_at, **chosen)
        return _("%(network)s is allowed %(lasts)s.") % form.done


def _domain_of(host: str) -> AuthorizedDomain | None:
    match = DomainTable(policy_source.domains()).match(Host.parse(host)) if host else None
    return AuthorizedDomain.objects.filter(name=match.name).first() if match else None


def _is_network(text: str) -> bool:
    try:
        canonical_network(text)
    except ValidationError:
        return False
    return True


def _return_url(query: str) -> str:
    try:
        pairs = pairs_of(query)
    except ValueError:
        pairs = []
    return f"{reverse('console:log')}?{urlencode(pairs)}" if pairs else reverse("console:log")
