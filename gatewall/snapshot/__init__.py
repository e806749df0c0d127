"""From rows to the policy in memory: compile, encode, keep, hold."""
