"""Filters of the operator pages."""
