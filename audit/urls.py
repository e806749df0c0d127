"""The paths of what happened. What needs the gate's own parts stands in ``gatewall.operations``."""

from django.urls import path

from audit import statistics_views, views

urlpatterns = [
    path("access-logs", views.AccessLogs.as_view(), name="access-logs"),
    path("access-logs/stats", statistics_views.AccessLogStats.as_view(), name="access-log-stats"),
]
