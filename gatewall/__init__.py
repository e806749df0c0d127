"""Gatewall: the access gateway that a reverse proxy asks about every request."""

__version__ = "0.1.0"
