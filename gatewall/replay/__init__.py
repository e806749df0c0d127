"""Replay of recorded or hypothetical requests: explanations, traces, rule trials, comparisons. No Django."""
