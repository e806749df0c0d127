"""Short device names from user agents."""

_BROWSERS = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("FxiOS/", "Firefox"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)
_MAX = 60


def name_of(user_agent: str) -> str:
    """Return browser and system, or the beginning of the unverified user agent."""
    if known := recognized(user_agent):
        return known
    return user_agent if len(user_agent) <= _MAX else f"{user_agent[: _MAX - 1]}…"


def recognized(user_agent: str) -> str:
    """Return browser and system, or an empty text for a program that is not known: never text that was sent."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return f"{browser}, {system}" if browser and system else ""
