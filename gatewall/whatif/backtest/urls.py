"""URLs of backtests and of the blast radius."""

from django.urls import path, re_path

from gatewall.whatif.backtest.views import Backtests, BlastRadius

_ONE = rf"^policy/backtest/(?P<pk>{Backtests.lookup_value_regex})$"

urlpatterns = [
    path("policy/backtest", Backtests.as_view({"get": "list", "post": "create"}), name="policy-backtest-list"),
    re_path(_ONE, Backtests.as_view({"get": "retrieve", "delete": "destroy"}), name="policy-backtest-detail"),
    path("policy/blast-radius", BlastRadius.as_view(), name="policy-blast-radius"),
]
