"""A host of its own for a test, on which it types what a page says."""
