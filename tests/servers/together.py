"""A WSGI application whose answer waits until as many requests are in threads as the control plane has of them."""

import threading

THREADS = 8
_barrier = threading.Barrier(THREADS)


def application(environ, start_response):
    """Answer ``/together`` when all threads are there, anything else at once."""
    if environ["PATH_INFO"] == "/together":
        _barrier.wait(120)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]
