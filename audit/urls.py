"""The paths of what happened."""

from django.urls import path

from audit import statistics_views, views

urlpatterns = [
    path("access-logs", views.AccessLogs.as_view(), name="access-logs"),
    path("access-logs/stats", statistics_views.AccessLogStats.as_view(), name="access-log-stats"),
    path("access-logs/<uuid:decision_id>", views.AccessLogEntry.as_view(), name="access-log"),
]
