"""The API of system settings and policy revisions, and the URLs of everything that operators call."""
