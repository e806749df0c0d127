"""The access log in the database: filters, queries and selectors."""
