"""The agent: one process a host that publishes policy and reports what the workers have loaded."""
