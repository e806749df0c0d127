"""Counts of the access log: time spans, bounded summaries (Misra-Gries) and their merging. No Django."""
