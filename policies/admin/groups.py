"""Django admin pages of groups of users."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from policies import resources
from policies.admin.entries import PolicyAdmin
from policies.models import Group

_RECORD = ("created_at", "created_by")
_SHOWN = 100


@admin.register(Group)
class GroupAdmin(PolicyAdmin):
    resource = resources.GROUPS
    list_display = ("name", "description", "all_domains", "member_count", *_RECORD)
    list_filter = ("all_domains",)
    search_fields = ("name", "description")
    ordering = ("name",)
    readonly_fields = ("members", *_RECORD)
    fields = ("name", "description", "all_domains", "authorized_domains", *readonly_fields)

    def get_queryset(self, request: HttpRequest) -> Any:
        return self.resource.rows().order_by(*self.get_ordering(request))

    @admin.display(description=_("members"), ordering="member_count")
    def member_count(self, group: Group) -> int:
        return int(getattr(group, "member_count", 0))

    @admin.display(description=_("members"))
    def members(self, group: Group) -> SafeString:
        """Return links to the members, whose groups are changed on their own pages."""
        if not group.pk:
            return format_html("{}", gettext("Users are put into a group on their own pages."))
        first = group.users.order_by("username").values_list("id", "username")[: _SHOWN + 1]
        links = [(reverse("admin:accounts_user_change", args=[id_]), name) for id_, name in first]
        shown = format_html_join(", ", '<a href="{}">{}</a>', links[:_SHOWN])
        everyone = f"{reverse('admin:accounts_user_changelist')}?groups__id__exact={group.pk}"
        more = format_html(' <a href="{}">{}</a>', everyone, gettext("All members")) if len(links) > _SHOWN else ""
        return format_html("{}{}", shown or "-", more)
