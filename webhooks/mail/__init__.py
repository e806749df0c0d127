"""Mail to users: the queue, which security events send one, and what it says."""
