"""The operator pages, under ``/admin/`` beside the pages of the rows."""

from django.urls import path

from gatewall.console.backtests import BacktestPage, BacktestsPage
from gatewall.console.blast_radius import BlastRadiusPage

app_name = "console"
urlpatterns = [
    path("backtest/", BacktestsPage.as_view(), name="backtests"),
    path("backtest/<int:pk>/", BacktestPage.as_view(), name="backtest"),
    path("blast-radius/", BlastRadiusPage.as_view(), name="blast-radius"),
]
