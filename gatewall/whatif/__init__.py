"""What would the gate say? Explanations, replays, trials of rules, exemptions and backtests over the access log."""
