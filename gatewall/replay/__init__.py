"""Recorded requests, decided once more: explanations, traces and trials of a rule. No Django."""
