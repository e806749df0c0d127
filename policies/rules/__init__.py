"""WAF rules: built-in rules, drafts, batches, and warnings about patterns."""
