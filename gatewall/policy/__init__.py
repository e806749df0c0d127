"""Policy changes: the revision of each, and the system settings."""
