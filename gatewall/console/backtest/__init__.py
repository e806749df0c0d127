"""Pages that replay recorded requests under a draft of the policy."""
