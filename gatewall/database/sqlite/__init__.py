"""Django's SQLite backend with a fair queue of writers.

A waiting SQLite writer sleeps up to 100 ms between attempts, so other writers can starve it until its timeout ends in
``database is locked``.
"""
