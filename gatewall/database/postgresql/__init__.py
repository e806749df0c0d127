"""Django backend for PostgreSQL that times out when the server hangs.

A hung server (SIGSTOP, stuck disk, paused virtual machine) or a proxy that drops packets is not detected by keepalives,
``tcp_user_timeout`` (the kernel still acknowledges TCP) and ``statement_timeout`` (the server's own). So a waiting
process probes the server on another connection.
"""
