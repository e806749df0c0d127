"""The web application firewall step: rule values, what they look at, and a linear-time matcher.

Law: traffic meets no backtracking engine. RE2 matches bytes (LATIN1), so the cost of a request is
linear in its size, whatever it holds and whatever an operator wrote.
"""
