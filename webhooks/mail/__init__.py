"""Mail to users: the queue, the security events that cause a mail, and the texts."""
