"""Webhooks: endpoints, incidents of security events, signing, and the outbox of deliveries."""
