"""How large request bodies of the control plane may be, and how its server and its application agree on large ones."""

MAX_BODY = 1024 * 1024
MAX_LARGE_BODY = 16 * 1024 * 1024
"""Of a request that may hold a policy document: one of 8 MiB has up to twice as many bytes as a string of JSON."""
BODY_WAITS = "gatewall.body_waits"
"""True in the environ if the body was not read yet: 100 as the answer asks for it, every other one refuses it."""
