"""Publication of the policy: compile rows to segments, and publish them as files that every worker follows."""
