"""The policy in memory: published files, read, verified, followed and held by every worker. No Django."""
