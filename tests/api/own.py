"""What users do to themselves, who are asked again who they are when their session is old."""

from datetime import timedelta

import pytest

NEW = "another battery and staple"
OLD = timedelta(minutes=10)
AUDIENCES = pytest.mark.parametrize("audiences", [["gate"], ["gate", "api"]], ids=str)


def of(user, what):
    return f"/users/{user.pk}/{what}"
