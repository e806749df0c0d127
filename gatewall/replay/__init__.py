"""Recorded or hypothetical requests decided again: explanations, traces, rule trials, comparisons. No Django."""
