"""WAF rules: built-in ones, drafts, batches, and patterns that are too broad or scanned apart."""
