"""Page to create device passes: a program at the user's address may enter a site for some hours, without signing in."""

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from accounts import browser
from gatewall.engine.addresses import IPAddress, parse_address
from gatewall.kernel.refusals import Gone
from gatewall.portal import pages
from gatewall.portal.account_views import AccountForm
from gatewall.portal.form_fields import number_of_form
from gatewall.portal.pages import see_other
from policies.grants.device_passes import create_device_pass, delete_device_pass, tried_at
from policies.models import AuthorizedDomain, DevicePass

_HOURS = (1, 8, 24)
_SHOWN = 10


class Devices(AccountForm):
    """Show the visitor's device passes, and the programs at their address that could have one; create a pass."""

    def get(self, request: HttpRequest) -> HttpResponse:
        found = pages.caller(request)
        if found is None:
            return see_other(pages.guard_url())
        self.caller = found
        return self._page(request)

    def send(self, request: HttpRequest) -> HttpResponse:
        hours, program = request.POST.get("hours", ""), request.POST.get("program", "")
        if hours not in map(str, _HOURS):
            raise ValidationError(_("Choose for how long."))
        self.reauthenticate(request)
        domain = AuthorizedDomain.objects.filter(name=request.POST.get("domain", "")[:255]).first()
        if domain is None:
            raise Gone("there is no such site")
        create_device_pass(
            user=self.caller.user,
            domain=domain,
            address=_address(request),
            program=program[:60],
            expires_at=pages.now() + timedelta(hours=int(hours)),
        )
        return see_other(request.path)

    def again(self, request: HttpRequest, error: str, status: int) -> HttpResponse:
        return self._page(request, error, status)

    def _page(self, request: HttpRequest, error: str = "", status: int = 200) -> HttpResponse:
        now, address, user = pages.now(), _address(request), self.caller.user
        own = DevicePass.objects.filter(user=user, expires_at__gt=now).select_related("domain")
        passed = {(each.domain.name, each.program) for each in own if each.address == str(address)}
        words = {
            "error": error,
            "passes": own,
            "tried": [each for each in tried_at(address, now) if each not in passed][:_SHOWN],
            "address": address,
            "hours": _HOURS,
            "ask": self.caller.asked_for,
            "user": user,
        }
        return pages.page(request, "devices", words, status=status)


class TakeBack(AccountForm):
    """Delete one of the visitor's device passes."""

    def send(self, request: HttpRequest) -> HttpResponse:
        row = DevicePass.objects.filter(user=self.caller.user, pk=number_of_form(request)).first()
        if row is None:
            raise Gone("there is no such pass")
        delete_device_pass(row, actor=self.caller.user.username)
        return see_other(pages.account_url().replace("/account", "/account/devices"))


def _address(request: HttpRequest) -> IPAddress:
    address = parse_address(browser.visitor(request).client_ip)
    if address is None:
        raise Gone("your address is not known")
    return address
