"""URLs of the logs. Views that need the gate's modules are in ``gatewall.whatif``."""

from django.urls import path

from audit.views import AccessLogs, SecurityEvents

urlpatterns = [
    path("access-logs", AccessLogs.as_view({"get": "list"}), name="access-logs"),
    path("access-logs/stats", AccessLogs.as_view({"get": "stats"}), name="access-log-stats"),
    path("security-events", SecurityEvents.as_view({"get": "list"}), name="security-events"),
    path("security-events/stats", SecurityEvents.as_view({"get": "stats"}), name="security-event-stats"),
]
