"""The Django admin of Gatewall: its sign-in, its site and the page of the settings."""
