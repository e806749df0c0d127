"""The operator pages, under ``/admin/`` beside the pages of the rows."""

from django.urls import URLPattern, path

from gatewall.console import dashboard_page, doctor_page, log_page, network_pages, view_pages

app_name = "console"
urlpatterns: list[URLPattern] = [
    path("dashboard/", dashboard_page.Dashboard.as_view(), name="dashboard"),
    path("log/", log_page.Log.as_view(), name="log"),
    path("log/find/", log_page.Find.as_view(), name="find"),
    path("log/views/", view_pages.KeepView.as_view(), name="keep-view"),
    path("log/views/<int:view_id>/", view_pages.ChangeView.as_view(), name="change-view"),
    path("log/ban/", network_pages.Ban.as_view(), name="ban"),
    path("log/allow/", network_pages.Allow.as_view(), name="allow"),
    path("doctor/", doctor_page.Doctor.as_view(), name="doctor"),
]
