"""Surviving mutants that do the same as the code: no test can tell them apart. By name, with the reason."""

EQUIVALENT: dict[str, str] = {}
