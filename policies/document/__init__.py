"""The policy document: the whole policy as one YAML text, to keep in version control and to apply."""
