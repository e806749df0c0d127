"""Django admin pages of users. Passwords are write-only."""

import secrets
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import Exists, F, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts import admin_session, browser, fresh_sign_in, selectors, services
from accounts.api_tokens.admin import ApiTokenAdmin
from accounts.identity_providers import selectors as identity_providers
from accounts.identity_providers.admin import IdentityProviderAdmin
from accounts.links.admin import LinksAdmin, offer_to
from accounts.links.requests import Offer
from accounts.models import LinkPurpose, Passkey, Session, TotpDevice, User
from accounts.passkeys.admin import PasskeyAdmin
from accounts.sign_in import code_entry, reauthentication, recovery
from accounts.token_removal import kinds_to_revoke
from accounts.totp_devices.admin import TotpDeviceAdmin
from gatewall.api.admin_forms import CREDENTIALS, LONGEST_CODE, ServiceForm, code_field, password_field
from gatewall.api.request_notes import REFUSAL, RequestNote
from gatewall.api.service_admin import ServiceAdmin, actor
from gatewall.kernel.refusals import Refusal

__all__ = ["ApiTokenAdmin", "IdentityProviderAdmin", "PasskeyAdmin", "TotpDeviceAdmin", "UserAdmin"]
_REVOKE = ("revoke_git_tokens", "revoke_app_tokens", "revoke_api_tokens")
_CHANGE_ONLY = (*_REVOKE, "forget_second_factor", "unlock_code_entry", *CREDENTIALS)
_SECOND_FACTOR_FIELDS = ("forget_second_factor", "unlock_code_entry")


class UserForm(ServiceForm):
    """User form of the admin, with an optional new password."""

    new_password = password_field("Setting one ends every session of this user.", autocomplete="new-password")
    invite = forms.BooleanField(
        required=False,
        help_text="Instead of a password: the user gets a link to choose one. Without mail it is shown to you, once.",
    )
    revoke_git_tokens = forms.BooleanField(
        required=False,
        help_text="With a new password: also delete the git tokens of this user.",
    )
    revoke_app_tokens = forms.BooleanField(
        required=False,
        help_text="With a new password: also delete the app tokens of this user.",
    )
    revoke_api_tokens = forms.BooleanField(
        required=False,
        help_text="With a new password: also delete the API tokens of this user.",
    )
    forget_second_factor = forms.BooleanField(
        required=False,
        help_text="For a user who has lost it: deletes apps, passkeys and recovery codes, and ends every session.",
    )
    unlock_code_entry = forms.BooleanField(
        required=False,
        help_text="Too many wrong codes were entered. Accept codes again; give the user a new password as well, as "
        "whoever entered them knew it.",
    )
    current_password = password_field(
        "Your own password, to give a user a password or rights, or to change your own password or second factor, "
        "unless you have just signed in."
    )
    current_code = code_field(
        "If you use a second factor: a code of it, in place of the password, or besides it to change your own password."
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "new_password" in self.fields and self.instance.pk is None:
            self.fields["new_password"].help_text = ""

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.instance.pk is None and bool(self.data.get("new_password")) == bool(self.data.get("invite")):
            self.add_error("new_password", gettext("Enter a password, or invite the user: one of the two."))
        return cleaned


_OFFER = RequestNote[Offer]("offer")
"""The invitation of a user who was created in this request."""
_REAUTHENTICATED = RequestNote[bool]("reauthenticated")
"""Set after the owner has re-authenticated in this request."""


class LiveSessions(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Read-only table of the live sessions of a user."""

    model = Session
    verbose_name_plural = _("live sessions")
    fields = readonly_fields = ("issued_at", "expires_at", "client_ip", "user_agent", "amr")
    ordering = ("-issued_at",)
    template = "admin/accounts/user/live_sessions.html"
    extra = max_num = 0
    can_delete = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        live = {"revoked_at__isnull": True, "expires_at__gt": timezone.now()}
        return super().get_queryset(request).filter(session_version=F("user__session_version"), **live)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(User)
class UserAdmin(LinksAdmin):
    form = UserForm
    list_display = (
        "username",
        "email",
        "is_admin",
        "is_auditor",
        "is_active",
        "all_domains",
        "second_factor",
        "last_login_at",
    )
    list_filter = ("is_admin", "is_auditor", "is_active", "all_domains", "groups")
    search_fields = ("username", "email", "remark")
    ordering = ("id",)
    readonly_fields = ("second_factor", "last_login_at", "created_at", "created_by")
    inlines = (LiveSessions,)
    fields = (
        "username", "new_password", "email", "is_admin", "is_auditor", "is_active", "all_domains", "authorized_domains",
        "groups", "remark", *readonly_fields,
    )  # fmt: skip

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        factor = ("forget_second_factor",) if obj is not None and self.second_factor(obj) else ()
        unlock_field = ("unlock_code_entry",) if obj is not None and selectors.is_code_entry_locked(obj) else ()
        is_own = obj is not None and obj.pk == request.user.pk
        asked = () if fresh_sign_in.is_fresh(request) else CREDENTIALS
        credentials = CREDENTIALS[: 1 + len(factor)] if is_own else asked
        revoke = _REVOKE if obj is not None else ("invite",)
        claimed = ("claimed_groups",) if obj is not None and obj.identities.exists() else ()
        return (*self.fields, *claimed, *revoke, *factor, *unlock_field, *credentials)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if request.method == "POST":
            row = self.get_object(request, unquote(object_id)) if object_id is not None else None
            try:  # before the page's transaction, whose rollback would undo the failure count
                if row is not None and row.pk == request.user.pk:
                    _reauthenticate(request, row)
                elif object_id is None or (row is not None and _opens_account(request, row)):
                    _reauthenticate_for_another(request)
            except Refusal as refusal:
                REFUSAL.set(request, refusal)
        return super().changeform_view(request, object_id, form_url, extra_context)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*super().get_readonly_fields(request, obj), "claimed_groups")

    @admin.display(description=_("groups by claims"))
    def claimed_groups(self, user: User) -> str:
        found = identity_providers.claimed_groups(user.pk)
        return (
            "; ".join(f"{each['group']}: {each['claim']} of {each['provider']} has {each['value']}" for each in found)
            or "-"
        )

    @admin.display(boolean=True, description=_("second factor"))
    def second_factor(self, user: User) -> bool:
        return bool(getattr(user, "has_passkey", False) or getattr(user, "has_app", False))

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        has_passkey = Exists(Passkey.objects.filter(user=OuterRef("pk")))
        has_app = Exists(TotpDevice.objects.filter(user=OuterRef("pk"), confirmed_at__isnull=False))
        rows: QuerySet[User] = super().get_queryset(request).annotate(has_passkey=has_passkey, has_app=has_app)
        return rows

    def create_row(self, request: HttpRequest, **values: Any) -> User:
        is_invited, password = values.pop("invite", False), values.pop("new_password")
        for name in _CHANGE_ONLY:  # the form declares them, but the page of a new user does not show them
            values.pop(name, None)
        password = secrets.token_urlsafe(32) if is_invited else password
        user = services.create_user(actor=actor(request), password=password, **values)
        if is_invited:
            _OFFER.set(request, offer_to(request, user, LinkPurpose.INVITATION, choose_username=True))
        return user

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        offer = _OFFER.get(request)
        if offer is not None and offer.link:
            title = gettext("%(row)s was created") % {"row": obj}
            return self.show_once(request, obj, title, offer.link, label=gettext("The link"))
        if offer is not None:
            self.message_user(
                request, gettext("An invitation is on its way to %(address)s.") % {"address": offer.sent_to}
            )
        return ServiceAdmin.response_add(self, request, obj, post_url_continue)

    def change_row(self, request: HttpRequest, row: User, **values: Any) -> None:
        for name in CREDENTIALS:
            values.pop(name, None)
        password, flags = values.pop("new_password", None), {name: values.pop(name, False) for name in _REVOKE}
        forget, unlock = (values.pop(name, False) for name in _SECOND_FACTOR_FIELDS)
        is_own = row.pk == request.user.pk
        if is_own and (password is not None or forget or unlock) and not _REAUTHENTICATED.get(request):
            raise reauthentication.ReauthenticationRequired("your password is required")
        if forget:
            recovery.reset(row, actor=actor(request), client_ip=browser.visitor(request).client_ip)
        if unlock:
            code_entry.unlock(row, actor=actor(request), client_ip=browser.visitor(request).client_ip)
        if password is None and not values:
            return
        revoked = kinds_to_revoke(flags) if password is not None else ()
        where = browser.visitor(request).client_ip
        kept = {"client_ip": where, "revoke_tokens": revoked, **values}
        user = services.change_user(row, actor=actor(request), password=password, **kept)
        if is_own and password is not None:  # users who change their own password stay signed in
            admin_session.keep_signed_in(request, user, visitor=browser.visitor(request), at=timezone.now())

    def delete_row(self, request: HttpRequest, row: User) -> None:
        services.delete_user(row, actor=actor(request))


def _opens_account(request: HttpRequest, user: User) -> bool:
    """Return whether the form gives a password or the rights of an admin or auditor, or weakens the second factor."""
    if any(request.POST.get(name) for name in _SECOND_FACTOR_FIELDS):
        return True
    given = {name: bool(request.POST.get(name)) and not getattr(user, name) for name in ("is_admin", "is_auditor")}
    return fresh_sign_in.gives_access({**given, "password": request.POST.get("new_password") or None})


def _reauthenticate_for_another(request: HttpRequest) -> None:
    """Re-authenticate an admin who gives another user access, unless the sign-in is fresh. Raises a Refusal."""
    password, code = (request.POST.get(name) or None for name in CREDENTIALS)
    fresh_sign_in.require(request, password=password, code=code[:LONGEST_CODE] if code else None)


def _reauthenticate(request: HttpRequest, user: User) -> None:
    """Re-authenticate the owner before their password or second factor changes, unless the sign-in is fresh.

    Raises as ``reauthentication.require_own_password()`` does.
    """
    new_password = request.POST.get("new_password")
    if not (new_password or any(request.POST.get(name) for name in _SECOND_FACTOR_FIELDS)):
        return
    now, visitor = timezone.now(), browser.visitor(request)
    if not fresh_sign_in.is_fresh(request):
        password, code = (request.POST.get(name) or None for name in CREDENTIALS)
        proof = {"password": password, "code": code[:LONGEST_CODE] if code else None}
        if new_password:
            sign_in = fresh_sign_in.sign_in_of(request)
            reauthentication.require_own_password(user, sign_in, **proof, visitor=visitor, at=now)
        else:
            reauthentication.require_password_or_code(user, **proof, visitor=visitor, at=now)
    _REAUTHENTICATED.set(request, value=True)
