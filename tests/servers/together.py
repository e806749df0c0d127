"""WSGI application whose answer waits until every thread of the control plane has a request."""

import threading

THREADS = 8
_barrier = threading.Barrier(THREADS)


def application(environ, start_response):
    """Answer ``/together`` once all threads have such a request, anything else at once."""
    if environ["PATH_INFO"] == "/together":
        _barrier.wait(120)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]
