"""Django's PostgreSQL backend for a server that may fall silent: what waits for it then fails, as in any outage.

A process that stands still (SIGSTOP, a disk that hangs, a paused virtual machine) still has its kernel acknowledge
TCP, and a proxy may swallow packets: neither keepalives nor ``tcp_user_timeout`` see it, and ``statement_timeout``
is the server's own. So who waits long asks on another connection whether the server answers at all.
"""
