"""Parse DATABASE_URL to Django's settings. Pure: standard library only.

Errors never contain the URL or its values: there may be a password in it.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, unquote

from gatewall.kernel.env_reader import ConfigError

_POOLER = "pooler"
_NAME = re.compile(r"[a-z_]{3,30}")
_DEFAULT_OPTIONS: Mapping[str, str] = {
    "connect_timeout": "5",
    # Detect a dead host or link after some ten seconds, not after two hours.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",  # milliseconds
}


def _one_of(*words: str) -> Callable[[str], str]:
    return lambda text: "" if text in words else f"must be one of {', '.join(words)}"


def _number(least: int, most: int) -> Callable[[str], str]:
    def wrong(text: str) -> str:
        good = text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most
        return "" if good else f"must be a whole number from {least} to {most}"

    return wrong


def _not_empty(text: str) -> str:
    return "" if text and text.isprintable() else "must not be empty"


_PARAMETERS: Mapping[str, Callable[[str], str]] = {
    _POOLER: _one_of("transaction"),
    "sslmode": _one_of("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "sslrootcert": _not_empty,
    "sslcert": _not_empty,
    "sslkey": _not_empty,
    "sslpassword": _not_empty,
    "sslcrl": _not_empty,
    "sslnegotiation": _one_of("postgres", "direct"),
    "ssl_min_protocol_version": _one_of("TLSv1.2", "TLSv1.3"),
    "channel_binding": _one_of("disable", "prefer", "require"),
    "target_session_attrs": _one_of("any", "read-write", "primary"),
    "load_balance_hosts": _one_of("disable", "random"),
    "application_name": _not_empty,
    "options": _not_empty,
    "connect_timeout": _number(2, 60),
    "keepalives": _number(0, 1),
    "keepalives_idle": _number(1, 7200),
    "keepalives_interval": _number(1, 7200),
    "keepalives_count": _number(1, 100),
    "tcp_user_timeout": _number(0, 7_200_000),
}
"""Supported libpq parameters, each with a validator that returns what is wrong with a value, or empty."""


def database(url: str) -> Mapping[str, object]:
    """Return Django's settings of the database. Raises ConfigError, without the value."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise ConfigError("DATABASE_URL is not a URL")
    if scheme == "sqlite":
        return _sqlite(rest)
    if scheme in {"postgres", "postgresql"}:
        return _postgresql(rest)
    raise ConfigError("DATABASE_URL must begin with sqlite:/// or postgresql://")


def _sqlite(rest: str) -> Mapping[str, object]:
    host, slash, path = rest.partition("/")
    if "?" in rest or "#" in rest:
        raise ConfigError("DATABASE_URL takes no parameters for SQLite; a ? or # in the path is %3F or %23")
    if host or not slash or unquote(path) in {"", ":memory:"}:  # processes cannot share a database in memory
        raise ConfigError("DATABASE_URL must name a file: sqlite:///relative or sqlite:////absolute")
    return {"ENGINE": "gatewall.database.sqlite", "NAME": unquote(path)}


def _postgresql(rest: str) -> Mapping[str, object]:
    if "#" in rest:
        raise ConfigError("DATABASE_URL contains a #; in a password, write %23")
    address, _, query = rest.partition("?")
    authority, _, name = address.partition("/")
    user_info, _, servers = authority.rpartition("@")
    user, _, password = user_info.partition(":")
    hosts = [_host_and_port(server) for server in servers.split(",")]
    parameters = _parameters(query)
    pooler = parameters.pop(_POOLER, "")
    if not name or "/" in name:
        raise ConfigError("DATABASE_URL must name one database: postgresql://user:password@host/name")
    return {
        "ENGINE": "gatewall.database.postgresql",
        "NAME": unquote(name),
        "USER": unquote(user),
        "PASSWORD": unquote(password),
        "HOST": ",".join(host for host, _ in hosts),
        "PORT": ",".join(port for _, port in hosts),
        # With a transaction pooler each transaction gets another session: no cursor outlives it.
        "DISABLE_SERVER_SIDE_CURSORS": pooler == "transaction",
        "OPTIONS": {**_DEFAULT_OPTIONS, **parameters},
    }


def _host_and_port(server: str) -> tuple[str, str]:
    """Return host and port; the host may be an address in brackets or a socket folder with %2F."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]*)(?::(.*))?", server)
    if match is None:
        raise ConfigError("DATABASE_URL has a host that cannot be read")
    host, port = match[1].strip("[]"), match[2] or "5432"
    if not (port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536):
        raise ConfigError("DATABASE_URL has a port that is not a number from 1 to 65535")
    return unquote(host), port


def _parameters(query: str) -> dict[str, str]:
    found: dict[str, str] = {}
    # libpq does not decode +: options=-c%20name=value
    for name, value in parse_qsl(query.replace("+", "%2B"), keep_blank_values=True):
        wrong = _PARAMETERS.get(name)
        if wrong is None:
            shown = name if _NAME.fullmatch(name) else "that cannot be read"  # it may be part of a password
            raise ConfigError(f"DATABASE_URL has a parameter {shown}: docs/configuration.md lists those that are known")
        if name in found:
            raise ConfigError(f"DATABASE_URL says {name} twice")
        if problem := wrong(value):
            raise ConfigError(f"DATABASE_URL: {name} {problem}")
        found[name] = value
    return found
