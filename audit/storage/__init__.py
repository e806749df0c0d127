"""Storage of the access log: ingest, partitions, retention, size limit."""
