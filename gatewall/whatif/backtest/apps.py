from django.apps import AppConfig


class BacktestConfig(AppConfig):
    name = "gatewall.whatif.backtest"
    label = "backtest"
    verbose_name = "Backtests"
