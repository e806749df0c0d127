"""Pages that compare a draft of the policy with the recorded requests."""
