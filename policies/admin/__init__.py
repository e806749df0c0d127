"""The Django admin of the policy; importing this registers its pages."""

from policies.admin import entries, groups, rules

__all__ = ["entries", "groups", "rules"]
