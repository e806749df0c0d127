"""Operator pages of the admin site: dashboard, log explorer, explain, backtest, history, doctor."""
