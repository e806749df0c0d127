"""API of system settings and policy revisions, and the URLs for operators."""
