"""Access records: fields, masking of secrets, and the spool files that workers write. No Django."""
