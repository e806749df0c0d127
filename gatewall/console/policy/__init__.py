"""Pages of the policy's history, list imports and networks."""
