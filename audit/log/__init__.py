"""The access log as rows: ingest, queries, filters, export, retention, size limit."""
