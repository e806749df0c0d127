"""Verification of credentials on the hot path: keys, signatures, digests. Pure: PyJWT and the standard library."""
