"""Django backend for PostgreSQL that times out when the server hangs.

A process that stands still (SIGSTOP, a disk that hangs, a paused virtual machine) still has its kernel acknowledge
TCP, and a proxy may swallow packets: neither keepalives nor ``tcp_user_timeout`` see it, and ``statement_timeout``
is the server's own. So who waits long asks on another connection whether the server answers at all.
"""
