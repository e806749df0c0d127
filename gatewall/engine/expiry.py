"""Expiry: ends are exclusive, None never expires. No clock here."""


def is_live(expires_at: float | None, at: float) -> bool:
    """True before the time of expiry (seconds since the epoch)."""
    return expires_at is None or at < expires_at
