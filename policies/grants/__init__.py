"""Grants: what users and groups may enter for a while, besides scope and access rules."""
