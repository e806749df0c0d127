"""URLs of the documentation, under ``/help/``."""

from django.urls import URLPattern, path

from gatewall.console.help import help_page

app_name = "help"
urlpatterns: list[URLPattern] = [
    path("", help_page.Help.as_view(), name="start"),
    path("<path:name>", help_page.Help.as_view(), name="page"),
]
