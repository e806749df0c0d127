"""The policy decision point: values in, one decision out.

Rules of this package:

1. No I/O, no clock, no Django. The time of a request is a field of the request.
2. Input is parsed beforehand: an ``AccessRequest`` is never partly valid.
3. ``steps.STEPS`` alone defines the order of the decision.
"""
