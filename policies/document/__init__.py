"""The policy document: the whole policy as one YAML file, to keep in version control and to apply."""
