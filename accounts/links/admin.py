"""Admin page of a user's links: send an invitation or a reset link, or show one to hand over, once."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts import browser
from accounts.links import requests
from accounts.links.requests import Offer
from accounts.models import LinkPurpose, User
from gatewall.api.admin_forms import CREDENTIALS, ProofFields
from gatewall.api.fresh_sign_in import is_fresh, require_fresh_sign_in
from gatewall.api.service_admin import ShownOnceAdmin, actor
from gatewall.api.translation import messages_of
from gatewall.kernel.refusals import Refusal


class LinkForm(ProofFields):
    """Form for the kind of link, and whether it is mailed or shown."""

    purpose = forms.ChoiceField(
        choices=[
            (LinkPurpose.INVITATION.value, _("An invitation, which works for 72 hours")),
            (LinkPurpose.PASSWORD_RESET.value, _("A link for a new password, which works for 30 minutes")),
        ],
        widget=forms.RadioSelect,
        label=_("Kind of link"),
    )
    choose_username = forms.BooleanField(
        required=False,
        initial=True,
        label=_("With an invitation: the user may choose another name"),
    )
    hand_over = forms.BooleanField(
        required=False,
        label=_("Show the link, and send no mail"),
        help_text=_("Hand it over yourself. Whoever has it can set the password."),
    )

    def __init__(self, *args: Any, fresh: bool, mailed: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in CREDENTIALS if fresh else ():
            del self.fields[name]
        if not mailed:
            del self.fields["hand_over"]


class LinksAdmin(ShownOnceAdmin):
    """Base of the user admin: adds the page to send or show a link."""

    change_form_template = "admin/accounts/user/with_links.html"

    def get_urls(self) -> list[URLPattern]:
        own = path("<path:object_id>/link/", self.admin_site.admin_view(self.link_view), name="accounts_user_link")
        return [own, *super().get_urls()]

    def link_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the form, or send the link."""
        user = self.get_object(request, unquote(object_id))
        if user is None:
            raise Http404
        if not self.has_change_permission(request, user):
            raise PermissionDenied
        mailed = requests.has_mail() and bool(user.email)
        form = LinkForm(request.POST or None, fresh=is_fresh(request), mailed=mailed)
        if request.method == "POST" and form.is_valid():
            try:
                return self._offered(request, user, self._offer(request, user, form.cleaned_data))
            except Refusal as refusal:
                form.add_error(None, messages_of(refusal))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "object": user,
            "title": gettext("Send a link to %(user)s") % {"user": user.username},
            "form": form,
            "mailed": mailed,
            "has_mail": requests.has_mail(),
        }
        return TemplateResponse(request, "admin/accounts/user/link.html", context)

    def _offer(self, request: HttpRequest, user: User, values: dict[str, Any]) -> Offer:
        password, code = (values.get(name) or None for name in CREDENTIALS)
        require_fresh_sign_in(request, password=password, code=code)
        purpose = LinkPurpose(values["purpose"])
        return offer_to(
            request,
            user,
            purpose,
            choose_username=purpose is LinkPurpose.INVITATION and values["choose_username"],
            hand_over=values.get("hand_over", False),
        )

    def _offered(self, request: HttpRequest, user: User, offer: Offer) -> HttpResponse:
        if offer.link:
            title = gettext("Link for %(user)s") % {"user": user.username}
            return self.show_once(request, user, title, offer.link, label=gettext("The link"))
        words = gettext("A link is on its way to %(address)s.") % {"address": offer.sent_to}
        self.message_user(request, words, messages.SUCCESS)
        return HttpResponseRedirect(reverse(f"{self.admin_site.name}:accounts_user_change", args=[user.pk]))


def offer_to(request: HttpRequest, user: User, purpose: LinkPurpose, **options: bool) -> Offer:
    """Send the user a link, or return it to hand over. Raises UserDisabled, Gone."""
    at, origin = timezone.now(), browser.origin(request)
    return requests.offer(user, purpose, actor=actor(request), at=at, origin=origin, **options)
