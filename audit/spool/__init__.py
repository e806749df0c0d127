"""Access records, their fields, the masking of secrets in them, and the spool files that workers write. No Django."""
