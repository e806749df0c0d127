"""URLs of the operator pages, under ``/admin/``."""

from django.urls import URLPattern, path

from gatewall.console.backtest import backtest_pages, blast_radius
from gatewall.console.explain import explain_pages, site_page, who_can_enter_page
from gatewall.console.log import log_page, saved_views
from gatewall.console.plan import plan_pages
from gatewall.console.policy import (
    access_requests_page,
    app_profiles_page,
    history_pages,
    import_page,
    network_pages,
    pattern_trial_page,
    shadow_page,
    suggestions_page,
    waf_report_page,
)
from gatewall.console.shell import search_page
from gatewall.console.site import dashboard_page, doctor_page, first_site_page, system_pages

app_name = "console"
urlpatterns: list[URLPattern] = [
    path("", dashboard_page.Dashboard.as_view(), name="overview"),
    path("search/", search_page.SearchPage.as_view(), name="search"),
    path("dashboard/", dashboard_page.Dashboard.as_view(), name="dashboard"),
    path("log/", log_page.Log.as_view(), name="log"),
    path("log/rows/", log_page.NewRows.as_view(), name="log-rows"),
    path("log/find/", log_page.Find.as_view(), name="find"),
    path("log/views/", saved_views.KeepView.as_view(), name="keep-view"),
    path("log/views/<int:view_id>/", saved_views.ChangeView.as_view(), name="change-view"),
    path("log/ban/", network_pages.Ban.as_view(), name="ban"),
    path("log/allow/", network_pages.Allow.as_view(), name="allow"),
    path("explain/", explain_pages.Explain.as_view(), name="explain"),
    path("explain/<uuid:decision_id>/", explain_pages.Receipt.as_view(), name="explain-receipt"),
    path("who-can-enter/", who_can_enter_page.WhoCanEnterPage.as_view(), name="who-can-enter"),
    path("suggested-rules/", suggestions_page.SuggestionsPage.as_view(), name="suggested-rules"),
    path("app-profiles/", app_profiles_page.AppProfilesPage.as_view(), name="app-profiles"),
    path("backtest/", backtest_pages.BacktestsPage.as_view(), name="backtests"),
    path("backtest/<int:pk>/", backtest_pages.BacktestPage.as_view(), name="backtest"),
    path("blast-radius/", blast_radius.BlastRadiusPage.as_view(), name="blast-radius"),
    path("plan/", plan_pages.PlansPage.as_view(), name="plans"),
    path("plan/export/", plan_pages.ExportPage.as_view(), name="policy-export"),
    path("plan/<int:pk>/", plan_pages.PlanPage.as_view(), name="plan"),
    path("site/", site_page.SiteOfHost.as_view(), name="site-of-host"),
    path("domains/<int:pk>/", site_page.SitePage.as_view(), name="site"),
    path("domains/<int:pk>/waf/", waf_report_page.WafReportPage.as_view(), name="waf-report"),
    path("waf-rules/try/", pattern_trial_page.PatternTrialPage.as_view(), name="try-rule"),
    path("shadow/", shadow_page.ShadowPage.as_view(), name="shadow"),
    path("access-requests/", access_requests_page.AccessRequests.as_view(), name="access-requests"),
    path("access-requests/<int:pk>/", access_requests_page.AccessRequest.as_view(), name="access-request"),
    path("history/", history_pages.History.as_view(), name="history"),
    path("history/<int:number>/", history_pages.Revision.as_view(), name="history-revision"),
    path("history/<int:number>/confirm/", history_pages.Confirmation.as_view(), name="confirmation"),
    path("import/", import_page.ImportList.as_view(), name="import"),
    path("first-site/", first_site_page.FirstSite.as_view(), name="first-site"),
    path("hosts/", system_pages.Hosts.as_view(), name="hosts"),
    path("backup/", system_pages.Backup.as_view(), name="backup"),
    path("doctor/", doctor_page.Doctor.as_view(), name="doctor"),
]
