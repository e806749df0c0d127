"""Gatewall's Django admin: sign-in, site and system settings."""
