from django.apps import AppConfig


class BacktestConfig(AppConfig):
    name = "gatewall.backtest"
    label = "backtest"
    verbose_name = "Backtests"
