"""Checks of the services that the serializers lack, so that such errors have a place in the document, too.

Each function raises ValidationError by field.
"""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from policies.access_rules.services import validate_together
from policies.lists.subscriptions import validate_url
from policies.models import AccessRule
from policies.validators import validate_pattern


def check_access_rule(row: Mapping[str, Any]) -> None:
    """Check the conditions of an access rule together."""
    rule = AccessRule(
        access=row["access"], credential_kinds=row["credential_kinds"], from_time=row["from"], until_time=row["until"]
    )
    validate_together(rule, {"groups": row["groups"], "users": row["users"]})


def check_waf_rule(row: Mapping[str, Any]) -> None:
    """Check the pattern of a WAF rule."""
    try:
        validate_pattern(row["pattern"], row["operator"])
    except ValidationError as error:
        raise ValidationError({"pattern": error}) from None


def check_subscription(row: Mapping[str, Any]) -> None:
    """Check the URL of a list subscription."""
    validate_url(row["url"], allow_private=row["allow_private"])
