"""URLs of the API for operators."""

from django.urls import path, re_path

from gatewall.doctor import view
from gatewall.health import dashboard_view, health, metrics_view
from gatewall.operations import settings_view
from gatewall.operations.revisions_view import PolicyRevisions
from gatewall.publication import reload_view
from gatewall.whatif import (
    access_log_view,
    access_requests_view,
    document_view,
    explain_view,
    rule_suggestions_view,
    rule_trial_view,
    waf_report_view,
    who_can_enter_view,
)

_REVISION = rf"^policy/revisions/(?P<pk>{PolicyRevisions.lookup_value_regex})"

_REQUESTS = access_requests_view.AccessRequests
urlpatterns = [
    path("health", health.Ready.as_view(), name="health"),
    path("health/live", health.Live.as_view(), name="health-live"),
    path("health/ready", health.Ready.as_view(), name="health-ready"),
    path("metrics", metrics_view.Metrics.as_view(), name="metrics"),
    path("dashboard/stats", dashboard_view.DashboardStats.as_view(), name="dashboard-stats"),
    path("access-logs/<uuid:decision_id>", access_log_view.AccessLogEntry.as_view(), name="access-log"),
    path("access-requests", _REQUESTS.as_view({"get": "list"}), name="access-requests-list"),
    path("access-requests/<int:pk>", _REQUESTS.as_view({"get": "retrieve"}), name="access-requests-detail"),
    path("access-requests/<int:pk>/grant", _REQUESTS.as_view({"post": "grant"}), name="access-requests-grant"),
    path("access-requests/<int:pk>/refuse", _REQUESTS.as_view({"post": "refuse"}), name="access-requests-refuse"),
    path("policy/explain", explain_view.Explain.as_view(), name="policy-explain"),
    path("policy/document", document_view.PolicyDocument.as_view(), name="policy-document"),
    path("policy/document/compare", document_view.CompareDocument.as_view(), name="policy-document-compare"),
    path("policy/schema", document_view.PolicySchema.as_view(), name="policy-schema"),
    path("policy/who-can-enter", who_can_enter_view.WhoCanEnter.as_view(), name="policy-who-can-enter"),
    path(
        "access-rules/suggestions",
        rule_suggestions_view.RuleSuggestions.as_view(),
        name="access-rules-suggestions",
    ),
    path(
        "authorized-domains/<int:pk>/waf-report",
        waf_report_view.WafReport.as_view(),
        name="authorized-domains-waf-report",
    ),
    path("waf-rules/test", rule_trial_view.RuleTrial.as_view(), name="waf-rules-test"),
    path("system/settings", settings_view.Settings.as_view(), name="system-settings"),
    path("system/doctor", view.Doctor.as_view(), name="system-doctor"),
    path("system/reload", reload_view.Reload.as_view(), name="system-reload"),
    path("policy/revisions", PolicyRevisions.as_view({"get": "list"}), name="policy-revisions-list"),
    re_path(rf"{_REVISION}$", PolicyRevisions.as_view({"get": "retrieve"}), name="policy-revisions-detail"),
    re_path(rf"{_REVISION}/restore$", PolicyRevisions.as_view({"post": "restore"}), name="policy-revisions-restore"),
    re_path(rf"{_REVISION}/confirm$", PolicyRevisions.as_view({"post": "confirm"}), name="policy-revisions-confirm"),
]
