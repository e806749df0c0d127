"""Writing and keeping the access log: ingest, partitions, retention, size limit."""
