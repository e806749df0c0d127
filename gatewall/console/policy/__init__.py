"""Pages of the history of the policy, of imports and of networks."""
