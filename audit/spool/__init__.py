"""The spool: files in which every worker records its answers until the agent ships them. No Django."""
