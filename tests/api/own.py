"""Calls of users on their own account, which require re-authentication in a stale session."""

from datetime import timedelta

import pytest

NEW = "another battery and staple"
OLD = timedelta(minutes=10)
AUDIENCES = pytest.mark.parametrize("audiences", [["gate"], ["gate", "api"]], ids=str)


def of(user, what):
    return f"/users/{user.pk}/{what}"
