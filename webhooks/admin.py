"""Django admin pages of webhooks and their deliveries. A secret is shown once."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit.event_kinds import EventKind
from audit.events.revision_events import url_without_path
from gatewall.api.admin_forms import FreshForm
from gatewall.api.fresh_sign_in import is_fresh
from gatewall.api.service_admin import ReadOnlyAdmin, ShownOnceAdmin, actor
from gatewall.api.translation import translated
from gatewall.kernel.refusals import Refusal
from webhooks import services
from webhooks.models import Delivery, Mail, Webhook

_READ_ONLY = ("created_at", "created_by", "previous_until", "failing_since", "succeeded_at", "failure", "left_out")


class WebhookForm(FreshForm):
    kinds = forms.MultipleChoiceField(
        choices=[(kind.value, kind.value) for kind in EventKind],
        required=False,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "pick"}),
        help_text="Kinds of events to send; empty means all.",
    )


class _NoSealedLookups(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        return "sealed" not in lookup and super().lookup_allowed(lookup, value, request)


def _shown_to(request: HttpRequest, field: str) -> str:
    """Return the name of the field to show: auditors see the host instead of the URL, whose path may be secret."""
    return "host" if field == "url" and not getattr(request.user, "is_staff", False) else field


@admin.register(Webhook)
class WebhookAdmin(_NoSealedLookups, ShownOnceAdmin):
    form = WebhookForm
    secret_label = _("The secret")
    use_note = _("Put it into the receiver, which verifies the signature of each notice with it.")
    list_display = ("name", "url", "least_severity", "enabled", "failing_since", "succeeded_at", "left_out")
    list_filter = ("enabled", "least_severity")
    search_fields = ("name", "url", "remark")
    readonly_fields = _READ_ONLY
    fields = ("name", "url", "kinds", "least_severity", "enabled", "allow_private", "remark", *readonly_fields)
    actions = ("send_test", "rotate_secret")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [_shown_to(request, name) for name in super().get_fields(request, obj)]

    def get_list_display(self, request: HttpRequest) -> Any:
        return [_shown_to(request, name) for name in self.list_display]

    def get_search_fields(self, request: HttpRequest) -> Any:
        return [name for name in self.search_fields if _shown_to(request, name) == name]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.readonly_fields, "host")

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Refuse lookups by URL to auditors: they would reveal it character by character."""
        field = lookup.partition("__")[0]
        return _shown_to(request, field) == field and super().lookup_allowed(lookup, value, request)

    @admin.display(description=_("URL"))
    def host(self, webhook: Webhook) -> str:
        return url_without_path(webhook.url)

    def create_row(self, request: HttpRequest, **values: Any) -> Webhook:
        webhook, secret = services.create_webhook(actor=actor(request), **values)
        self.keep_for_response(request, secret)
        return webhook

    def change_row(self, request: HttpRequest, row: Webhook, **values: Any) -> None:
        services.change_webhook(row, actor=actor(request), **values)

    def delete_row(self, request: HttpRequest, row: Webhook) -> None:
        services.delete_webhook(row, actor=actor(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow deleting a webhook although its deliveries cannot be deleted on their own."""
        to_delete, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, forbidden - {Delivery._meta.verbose_name}, protected  # noqa: SLF001 - Django's documented API

    @admin.action(description=_("Send a test"))
    def send_test(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        for webhook in queryset:
            try:
                services.send_test(webhook, actor=actor(request))
            except Refusal as refusal:
                self.message_user(
                    request,
                    gettext("Nothing was sent to %(webhook)s: %(why)s.")
                    % {"webhook": webhook, "why": translated(refusal.message)},
                    messages.ERROR,
                )
            else:
                self.message_user(
                    request,
                    gettext("A test is on its way to %(webhook)s. Its delivery is in the list of deliveries.")
                    % {"webhook": webhook},
                    messages.SUCCESS,
                )

    @admin.action(description=_("Rotate the secret (choose one webhook)"))
    def rotate_secret(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> HttpResponse | None:
        chosen = list(queryset[:2])
        if len(chosen) != 1:
            self.message_user(request, gettext("Choose one webhook: its secret is shown once."), messages.ERROR)
            return None
        if not is_fresh(request):
            self.message_user(
                request, gettext("You signed in more than ten minutes ago: sign in again."), messages.ERROR
            )
            return None
        webhook, secret = services.rotate_secret(chosen[0], actor=actor(request))
        title = gettext("%(row)s has a new secret") % {"row": webhook}
        return self.show_once(request, webhook, title, secret)


@admin.register(Mail)
class MailAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "kind", "user", "status", "attempts", "next_at", "failure")
    list_filter = ("status", "kind")
    list_select_related = ("user",)
    ordering = ("-created_at",)
    fields = ("kind", "user", "status", "created_at", "attempts", "tried_at", "next_at", "failure")
    readonly_fields = fields


@admin.register(Delivery)
class DeliveryAdmin(_NoSealedLookups, ReadOnlyAdmin):
    list_display = ("created_at", "webhook", "type", "status", "attempts", "next_at", "response_status", "failure")
    list_filter = ("status", "webhook")
    list_select_related = ("webhook", "notice")
    ordering = ("-id",)
    fields = (
        *("webhook", "type", "message_id", "status", "created_at", "attempts", "tried_at", "next_at"),
        *("response_status", "failure", "body"),
    )
    readonly_fields = fields
    actions = ("send_again",)

    @admin.display(description=_("type"))
    def type(self, delivery: Delivery) -> str:
        return delivery.notice.type

    @admin.display(description="webhook-id")
    def message_id(self, delivery: Delivery) -> str:
        return delivery.notice.message_id

    @admin.display(description=_("body"))
    def body(self, delivery: Delivery) -> str:
        return delivery.notice.body

    @admin.action(description=_("Send again"))
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        for delivery in queryset:
            try:
                services.resend(delivery)
            except Refusal as refusal:
                self.message_user(
                    request,
                    gettext("It was not sent again: %(why)s.") % {"why": translated(refusal.message)},
                    messages.ERROR,
                )
            else:
                self.message_user(
                    request, gettext("It is sent again: %(kind)s") % {"kind": delivery.notice.type}, messages.SUCCESS
                )
