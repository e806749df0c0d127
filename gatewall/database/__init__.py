"""What Gatewall needs of its database and cache: backends, connections, locks, the write queue, online indexes."""
