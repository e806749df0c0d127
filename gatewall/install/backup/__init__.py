"""Backup and restore: one portable file for both databases, and a restore that reactivates no revoked credential."""
