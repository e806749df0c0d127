"""The policy decision point: values in, one decision out.

Laws of this package:

1. No I/O, no clock, no Django. The moment of a request is a field of the request.
2. Everything it decides on was parsed before: an ``AccessRequest`` cannot be half valid.
3. The order of ``steps.STEPS`` is the order of the decision, and the only place where it stands.
"""
