"""Proxy doctor without Django: probes, checks and findings."""
