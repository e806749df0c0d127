"""The settings of the tests over a database in memory, of which every fork has its own copy."""

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES

DATABASES["default"] = {**DATABASES["default"], "TEST": {"NAME": ":memory:"}}
