"""Backtests: replay recorded requests under the current policy and under a draft of a change."""
