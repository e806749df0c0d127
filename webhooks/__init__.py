"""Webhooks: who is told of which security events, and the outbox of what he is told."""
