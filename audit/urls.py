"""The paths of what happened."""

from django.urls import path

from audit import views

urlpatterns = [
    path("access-logs", views.AccessLogs.as_view(), name="access-logs"),
    path("access-logs/<uuid:decision_id>", views.AccessLogEntry.as_view(), name="access-log"),
]
