"""Webhooks: endpoints, the security events that each receives, and the outbox of deliveries."""
