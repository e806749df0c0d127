"""The paths of operation."""

from django.urls import path

from gatewall.operations import explain_view, health, reload_view, settings_view

urlpatterns = [
    path("health", health.Ready.as_view(), name="health"),
    path("health/live", health.Live.as_view(), name="health-live"),
    path("health/ready", health.Ready.as_view(), name="health-ready"),
    path("policy/explain", explain_view.Explain.as_view(), name="policy-explain"),
    path("system/settings", settings_view.Settings.as_view(), name="system-settings"),
    path("system/reload", reload_view.Reload.as_view(), name="system-reload"),
]
