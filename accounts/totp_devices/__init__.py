"""Authenticator apps of users (TOTP devices): names, removal."""
