"""Attribution that the license of a free geo database requires, by the type in its metadata."""

_OF_TYPE = {
    "DBIP-": "IP Geolocation by DB-IP, https://db-ip.com (Lite databases: CC BY 4.0)",
    "GeoLite2-": "This product includes GeoLite2 data created by MaxMind, available from https://www.maxmind.com",
    "ipinfo ": "IP address data powered by IPinfo, https://ipinfo.io (Lite databases: CC BY-SA 4.0)",
}


def attribution(kind: str, description: str) -> str:
    """Return the line to show with the data: the vendor's text or, if it is unknown, the database's description."""
    for start, line in _OF_TYPE.items():
        if kind.startswith(start):
            return line
    return description or "not stated: see the terms of its vendor"
