"""What would the gate answer? Explanations, replays, rule trials, exemptions and backtests."""
