"""The agent: one process per host that publishes policy, ships the access log, detects attacks and sends webhooks."""
