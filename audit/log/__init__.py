"""The access log as rows: its filters, queries and selectors."""
