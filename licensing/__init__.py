"""Machine credentials: licenses and git tokens."""
