"""Django's SQLite backend with a fair queue of writers in front of the one write lock.

SQLite itself makes a waiting writer sleep for up to 100 ms between two attempts. A writer that comes back at once takes
the lock in between, and the waiting one starves until its timeout ends in ``database is locked``.
"""
