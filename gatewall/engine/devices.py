"""Short names of devices and programs from user agents."""

import re

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
_COMMENT = re.compile(r"\([^()]*\)")
_COMPATIBLE = frozenset({"Mozilla", "AppleWebKit", "Gecko", "KHTML"})
"""Products that programs name only to be served like a browser."""


def name_of(user_agent: str) -> str:
    """Return browser and system, or the beginning of the unverified user agent."""
    if known := recognized(user_agent):
        return known
    return user_agent if len(user_agent) <= _MAX else f"{user_agent[: _MAX - 1]}…"


def recognized(user_agent: str) -> str:
    """Return browser and system, or an empty string for an unknown program: never text from the client."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    return f"{browser}, {system}" if browser and system else ""


def program_of(user_agent: str) -> str:
    """Return the family of a user agent: browser and system, or the name of the first product (RFC 9110).

    The client chooses its user agent, so it proves nothing.
    """
    if known := recognized(user_agent):
        return known
    names = [part.partition("/")[0] for part in _COMMENT.sub(" ", user_agent).split()]
    return next((name for name in names if name not in _COMPATIBLE), "")[:_MAX]


_KNOWN = frozenset(f"{browser}, {system}" for _, browser in _BROWSERS for _, system in _SYSTEMS)


def is_program(name: str) -> bool:
    """True if ``program_of`` can return the name."""
    return name in _KNOWN or (name != "" and program_of(name) == name)
