"""The Django admin of the policy; importing this registers its pages."""

from policies.admin import access_rules, entries, expectations, grants, groups, rules

__all__ = ["access_rules", "entries", "expectations", "grants", "groups", "rules"]
