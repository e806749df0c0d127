"""Facts that a replay needs and an access record lacks. Pure."""

from enum import StrEnum


class Missing(StrEnum):
    """A fact that a decision needs and the record lacks."""

    REQUEST = "request"
    POLICY_AGE = "policy-age"
    PATH = "path"
    HEADERS = "headers"
    CREDENTIAL = "credential"
    REQUEST_RATE = "request-rate"
    WAF_RULES = "waf-rules"


class NotRecorded(Exception):
    """A step needs a fact that the record lacks."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(missing.value)
        self.missing = missing
