"""What happened: the access log and security events."""
