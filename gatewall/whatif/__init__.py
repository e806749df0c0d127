"""What-if analysis: explanations, replays, rule trials, exemptions and backtests."""
