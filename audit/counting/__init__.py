"""Counts of the access log: spans, bounded summaries (Misra-Gries) and their merging. No Django."""
