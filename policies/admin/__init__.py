"""The Django admin of the policy; importing this registers its pages."""

from policies.admin import entries, rules

__all__ = ["entries", "rules"]
