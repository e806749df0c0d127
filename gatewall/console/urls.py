"""The operator pages, under ``/admin/`` beside the pages of the rows."""

from django.urls import URLPattern

app_name = "console"
urlpatterns: list[URLPattern] = []
