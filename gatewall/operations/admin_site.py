"""The Django admin site, and how its forms write: through the same services as the API."""

from django.contrib import admin
from django.contrib.admin.apps import AdminConfig


class GatewallAdminConfig(AdminConfig):
    """Makes our site the default one."""

    default_site = "gatewall.operations.admin_site.GatewallAdminSite"


class GatewallAdminSite(admin.AdminSite):
    """The admin site, named after us."""

    site_header = site_title = "Gatewall"
    index_title = "Policy and accounts"
    site_url = None
