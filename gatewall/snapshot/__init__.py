"""The policy in memory: published files, verified and followed, and the cache of compiled WAF patterns. No Django."""
