"""Access rules: services, their order, warnings, and what becomes of a rule when a row that it names is deleted."""
