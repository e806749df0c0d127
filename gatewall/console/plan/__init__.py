"""Pages that plan a policy document, show what it would do, and apply it."""
