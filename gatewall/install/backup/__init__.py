"""Backup and restore: one portable file for both databases, and a restore that lets nothing revoked back in."""
