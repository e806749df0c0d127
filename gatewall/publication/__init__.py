"""Publication of the policy: rows are compiled to segments, and segments to files that every worker follows."""
