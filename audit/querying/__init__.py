"""Queries of the access log and the security events: filters, keyset pagination, API views, export."""
