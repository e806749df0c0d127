"""Temporary access: grants for users and groups, share links for guests, device passes for programs."""
