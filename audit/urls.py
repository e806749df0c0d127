"""The paths of what happened. What needs the gate's own parts stands in ``gatewall.operations``."""

from django.urls import path

from audit import views
from audit.events import views as event_views
from audit.figures import statistics_views

urlpatterns = [
    path("access-logs", views.AccessLogs.as_view(), name="access-logs"),
    path("access-logs/stats", statistics_views.AccessLogStats.as_view(), name="access-log-stats"),
    path("security-events", event_views.SecurityEvents.as_view(), name="security-events"),
    path("security-events/stats", event_views.SecurityEventStats.as_view(), name="security-event-stats"),
]
