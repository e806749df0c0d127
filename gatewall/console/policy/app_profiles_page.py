"""The page of the app profiles: the rules of each profile, and the buttons that apply and remove it."""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from gatewall.api.caller import caller_of
from gatewall.api.translation import messages_of, translated
from gatewall.console.site.pages import OperatorPage
from gatewall.kernel.refusals import Refusal
from policies.access_rules.warnings import warnings_about
from policies.app_profiles.applying import applied_profiles, apply_profile, remove_profile
from policies.app_profiles.loading import AppProfile, profiles
from policies.models import AuthorizedDomain


def link_for(domain: AuthorizedDomain) -> str:
    """Return the link to the profiles for a domain."""
    return f"{reverse('console:app-profiles')}?{urlencode({'domain': domain.name})}"


class AppProfilesPage(OperatorPage):
    """All profiles with their rules and reasons; with ``?domain=``, which of them the domain has, and buttons."""

    template, title = "console/app_profiles.html", _("App profiles")

    def get(self, request: HttpRequest) -> HttpResponse:
        name = request.GET.get("domain", "")
        return self._page(request, _domain(name) if name else None)

    def post(self, request: HttpRequest) -> HttpResponse:
        domain, profile = _domain(request.POST.get("domain", "")), profiles().get(request.POST.get("profile", ""))
        if profile is None:
            raise Http404
        try:
            match request.POST.get("do", ""):
                case "apply":
                    _apply(request, profile, domain)
                case "remove":
                    _remove(request, profile, domain)
                case _:
                    raise Http404
        except (Refusal, ValidationError) as error:
            messages.error(request, " ".join(messages_of(error)))
            return self._page(request, domain, HTTPStatus.CONFLICT)
        return redirect(link_for(domain))

    def _page(
        self, request: HttpRequest, domain: AuthorizedDomain | None, status: HTTPStatus = HTTPStatus.OK
    ) -> HttpResponse:
        applied = applied_profiles(domain) if domain else frozenset()
        return self.render(
            request,
            status,
            names=AuthorizedDomain.objects.order_by("name").values_list("name", flat=True),
            domain=domain,
            rows=[{"profile": each, "is_applied": each.name in applied} for each in profiles().values()],
        )


def _domain(name: str) -> AuthorizedDomain:
    """Return the registered domain of this name. Raises Http404."""
    found = AuthorizedDomain.objects.filter(name=name).first()
    if found is None:
        raise Http404
    return found


def _apply(request: HttpRequest, profile: AppProfile, domain: AuthorizedDomain) -> None:
    rules, _changed = apply_profile(profile, domain, actor=str(request.user), caller=caller_of(request))
    words = ngettext(
        "%(profile)s is applied to %(domain)s: %(number)s access rule was added after all others.",
        "%(profile)s is applied to %(domain)s: %(number)s access rules were added after all others.",
        len(rules),
    )
    messages.success(request, words % _named(profile, domain, len(rules)))
    for needs in dict.fromkeys([rule.needs for rule in profile.rules if rule.needs]):
        messages.warning(request, gettext("Required setting of the app: %(needs)s") % {"needs": needs})
    for rule in rules:
        for warning in warnings_about(rule):
            messages.warning(request, f"{rule.name}: {translated(warning)}")


def _remove(request: HttpRequest, profile: AppProfile, domain: AuthorizedDomain) -> None:
    rules, _changed = remove_profile(profile, domain, actor=str(request.user), caller=caller_of(request))
    words = gettext("%(profile)s is removed from %(domain)s: access rules deleted: %(number)s.")
    messages.success(request, words % _named(profile, domain, len(rules)))


def _named(profile: AppProfile, domain: AuthorizedDomain, number: int) -> dict[str, Any]:
    return {"profile": profile.title, "domain": domain.name, "number": number}
