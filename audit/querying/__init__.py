"""Shared by the access log and the security events: filters, keyset pages, API views, export."""
