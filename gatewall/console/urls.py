"""The operator pages, under ``/admin/`` beside the pages of the rows."""

from django.urls import URLPattern, path

from gatewall.console import doctor_page

app_name = "console"
urlpatterns: list[URLPattern] = [
    path("doctor/", doctor_page.Doctor.as_view(), name="doctor"),
]
