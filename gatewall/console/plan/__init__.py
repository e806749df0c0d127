"""Pages that plan a policy document (dry run), show the plan, and apply it."""
