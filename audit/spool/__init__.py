"""Spool: files to which every worker writes access records until the agent ships them. No Django."""
