"""Web application firewall: rules, request parsing, and a linear-time matcher.

No backtracking engine runs on traffic. RE2 matches bytes (LATIN1), so the cost is linear in the size of the request,
for any content and any operator's pattern.
"""
