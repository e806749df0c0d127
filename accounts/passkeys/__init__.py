"""Passkeys of users: registration, names, removal."""
