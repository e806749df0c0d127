"""Machine credentials: licenses, git tokens and app tokens."""
