"""Grants: what a user may enter for a while, besides scope and access rules."""
