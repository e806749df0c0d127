"""Pages of the access log: its query, rows and saved views."""
