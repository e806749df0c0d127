"""Credentials as the hot path sees them: keys, signatures, digests. Pure: PyJWT and the standard library."""
