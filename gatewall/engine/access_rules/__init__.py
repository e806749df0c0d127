"""Access rules: conditions on a request and its subject, and the access that the first matching rule requires."""
