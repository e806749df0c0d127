"""Shared plain Python: environment, client address, refusals, downloads, detectors. No Django."""
