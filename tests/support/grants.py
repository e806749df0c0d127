"""Users who may enter a domain only by a grant."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts import services as accounts
from policies.grants.services import create_grant
from policies.models import Grant


def granted(user: Any, domain: Any, **values: Any) -> Grant:
    """Remove every domain from the user's scope, and grant this one for an hour."""
    accounts.change_user(user, actor="alice", all_domains=False)
    ends = timezone.now() + timedelta(hours=1)
    return create_grant(actor="alice", user=user, domain=domain, **{"expires_at": ends, **values})
