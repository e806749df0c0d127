"""Size limits of request bodies in the control plane, and the environ flag of a body that was not read yet."""

MAX_BODY = 1024 * 1024
MAX_LARGE_BODY = 16 * 1024 * 1024
"""Limit for a policy document in a request: one of 8 MiB takes up to twice as many bytes as a JSON string."""
BODY_WAITS = "gatewall.body_waits"
"""True in the environ if the body was not read yet: status 100 requests it, every other status refuses it."""
