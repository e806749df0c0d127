"""Gatewall: the access gateway that a reverse proxy asks about every request."""
