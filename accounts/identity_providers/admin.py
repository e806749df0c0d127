"""Django admin page of identity providers. The client secret is write-only."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.identity_providers import services, validators
from accounts.provider_models import IdentityProvider
from gatewall.api.admin_forms import CREDENTIALS, LONGEST_CODE, FreshForm, password_field
from gatewall.api.fresh_sign_in import is_fresh, require_fresh_sign_in
from gatewall.api.request_notes import REFUSAL
from gatewall.api.service_admin import ServiceAdmin, actor
from gatewall.kernel.refusals import Refusal
from policies.models import AuthorizedDomain

_COLUMNS = {"new_client_secret": "client_secret", "group_map": "mapped_groups"}
_MOST_LINES = 500


class LinesField(forms.CharField):
    """Texts, one on each line."""

    widget = forms.Textarea(attrs={"rows": 3, "cols": 40})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list) else value

    def clean(self, value: Any) -> Any:
        lines = [line.strip() for line in super().clean(value).splitlines() if line.strip()]
        if len(lines) > _MOST_LINES:
            raise ValidationError(f"at most {_MOST_LINES} lines")
        return lines

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool((initial or []) != self.clean(data or ""))


class GroupMapField(LinesField):
    """A group map, one value on each line: ``employees = staff, wiki``."""

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return "\n".join(f"{name} = {', '.join(groups)}" for name, groups in value.items())

    def clean(self, value: Any) -> dict[str, list[Any]]:
        found: dict[str, list[str]] = {}
        for line in super().clean(value):
            name, equals, groups = line.rpartition("=")
            if not equals or not 0 < len(name.strip()) <= validators.LONGEST_VALUE:
                raise ValidationError("write each line as: claim value = group, group")
            found[name.strip()] = [group.strip() for group in groups.split(",") if group.strip()]
        if len(found) > validators.MAX_VALUES:
            raise ValidationError(f"at most {validators.MAX_VALUES} values")
        try:
            return validators.mapped_groups(found)
        except ValidationError as error:
            raise ValidationError(error.messages) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(self.prepare_value(initial or {}) != (data or "").replace("\r\n", "\n").strip())


class IdentityProviderForm(FreshForm):
    """Form of an identity provider."""

    new_client_secret = password_field(
        "The secret that the provider gave. Empty: it stays as it is.", autocomplete="off"
    )
    scopes = LinesField(initial=["openid", "profile", "email"], help_text="Scopes to ask for, one on each line.")
    group_map = GroupMapField(
        required=False,
        help_text="For each value of the groups claim the groups that it gives: employees = staff, wiki. The group "
        "admins makes administrators, and needs the box below as well.",
    )
    allowed_email_domains = LinesField(
        required=False, help_text="Domains of the verified e-mail addresses that may sign in, one on each line."
    )
    domains = LinesField(required=False, help_text="Registered domains that offer it, one on each line. Empty: all.")

    class Meta:
        model = IdentityProvider
        fields = "__all__"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.instance.pk is not None:
            self.initial["group_map"] = self.instance.group_map

    def clean_domains(self) -> list[str]:
        names: list[str] = self.cleaned_data["domains"]
        registered = set(AuthorizedDomain.objects.filter(name__in=names).values_list("name", flat=True))
        if unknown := [name for name in names if name not in registered]:
            raise ValidationError(gettext("%(domain)s is not a registered domain") % {"domain": unknown[0]})
        return names


@admin.register(IdentityProvider)
class IdentityProviderAdmin(ServiceAdmin):
    form = IdentityProviderForm
    list_display = ("slug", "name", "issuer", "create_users", "group_map_gives_admin", "enabled")
    list_filter = ("enabled",)
    search_fields = ("slug", "name", "issuer")
    readonly_fields = ("has_client_secret", "created_at", "created_by")
    fields = (
        *("slug", "name", "issuer", "client_id", "new_client_secret", "scopes", "username_claim", "groups_claim"),
        *("group_map", "group_map_gives_admin", "create_users", "link_verified_email", "allowed_email_domains"),
        *("trust_amr", "domains", "enabled", "allow_private", *readonly_fields),
    )

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        return "sealed" not in lookup and super().lookup_allowed(lookup, value, request)

    @admin.display(boolean=True, description=_("has a client secret"))
    def has_client_secret(self, provider: IdentityProvider) -> bool:
        return provider.has_client_secret

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.fields, *(() if is_fresh(request) else CREDENTIALS))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Re-authenticate for a change too: whoever controls a provider can sign in as its users."""
        if request.method == "POST" and object_id is not None:
            password, code = (request.POST.get(name) or None for name in CREDENTIALS)
            try:  # before the page's transaction, whose rollback would undo the failure count
                require_fresh_sign_in(request, password=password, code=code[:LONGEST_CODE] if code else None)
            except Refusal as refusal:
                REFUSAL.set(request, refusal)
        return super().changeform_view(request, object_id, form_url, extra_context)

    def create_row(self, request: HttpRequest, **values: Any) -> IdentityProvider:
        return services.create_provider(actor=actor(request), **_columns(values))

    def change_row(self, request: HttpRequest, row: IdentityProvider, **values: Any) -> None:
        services.change_provider(row, actor=actor(request), **_columns(values))

    def delete_row(self, request: HttpRequest, row: IdentityProvider) -> None:
        services.delete_provider(row, actor=actor(request))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Allow deleting a provider although its links and sessions cannot be deleted on their own."""
        to_delete, counts, _forbidden, protected = super().get_deleted_objects(objs, request)
        return to_delete, counts, set(), protected


def _columns(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form's values by column; an empty secret leaves the stored one as it is."""
    columns = {_COLUMNS.get(name, name): value for name, value in values.items() if name not in CREDENTIALS}
    if not columns.get("client_secret"):
        columns.pop("client_secret", None)
    return columns
