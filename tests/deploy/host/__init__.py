"""A host of its own for a test, which types the commands of a documentation page there."""
