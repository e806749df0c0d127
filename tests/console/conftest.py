"""A browser at the operator pages: that of the admin pages, signed in as Alice."""

from tests.admin.conftest import pages

__all__ = ["pages"]
