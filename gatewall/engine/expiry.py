"""When something stops counting. Ends are exclusive; None never ends. No clock here."""


def is_live(expires_at: float | None, at: float) -> bool:
    """True up to, not including, the moment of expiry (seconds since the epoch)."""
    return expires_at is None or at < expires_at
