"""Access rules: services, their order, warnings, and what happens to a rule when a row that it names is deleted."""
