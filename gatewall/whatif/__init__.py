"""What would the gate say? Explanations, replays, rule trials, exemptions and backtests over the access log."""
