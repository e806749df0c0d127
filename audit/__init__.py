"""The access log and security events: spool, storage, queries, statistics."""
