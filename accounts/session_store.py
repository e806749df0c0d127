"""Session store of the Django admin: rows contain only digests of session keys.

The cookie has a random key of 165 bits; the row has 160 bits of its SHA-256 digest, to fit Django's column.
"""

import hashlib
from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.utils import timezone

_HEX_DIGITS = 40


class SessionStore(DatabaseStore):
    """Database session store, keyed by the digest of the session key."""

    def _get_session_from_db(self) -> Session | None:
        key = _digest(self.session_key or "")
        row = Session.objects.filter(session_key=key, expire_date__gt=timezone.now()).first()
        if row is None:
            self._session_key = None
        return row

    def exists(self, session_key: str) -> bool:
        return super().exists(_digest(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> AbstractBaseSession:
        row = super().create_model_instance(data)
        row.session_key = _digest(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        if key := session_key or self.session_key:
            Session.objects.filter(session_key=_digest(key)).delete()


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:_HEX_DIGITS]
