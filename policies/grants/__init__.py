"""Grants: temporary access for users and groups, besides their scope and access rules."""
