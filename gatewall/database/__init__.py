"""Database and cache backends: connections that time out, a fair write queue, online indexes, re-encryption."""
