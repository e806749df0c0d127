"""Verification of credentials on the hot path: session tokens (JWT), keys, digests. Pure: PyJWT and the stdlib."""
