"""API tokens: credentials of programs for the management API, with scopes."""
