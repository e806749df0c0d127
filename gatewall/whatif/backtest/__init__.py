"""Backtests: recorded requests decided under today's policy and under a draft of it."""
