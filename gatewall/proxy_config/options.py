"""Parse the values for a proxy's configuration from text, with one-line errors that say what to write."""

from dataclasses import replace
from urllib.parse import urlsplit

from gatewall.engine.addresses import parse_address
from gatewall.engine.hosts import Authority
from gatewall.kernel import env, env_public
from gatewall.kernel.cookie_domain import host_of, registrable_domain
from gatewall.kernel.env_reader import ConfigError
from gatewall.proxy_config.rendering import KINDS, LIMITS_CONNECTIONS, UNIX, Place

_INTERNAL = "/_gatewall"
_MAX_CONNECTION_SECONDS = 30 * 24 * 3600


def site(text: str) -> str:
    """Return the host of a site in canonical form. Raises ConfigError."""
    authority = Authority.parse(text)
    if authority is None or authority.port is not None:
        raise ConfigError(f"--site must be a host name like app.example.com, without scheme and port, not {text!r}")
    return authority.host.name


def prefix(text: str) -> str:
    """Return the prefix of Gatewall's own paths on a site; the site needs all other paths. Raises ConfigError."""
    path = env.root_path(text)
    if not path:
        raise ConfigError("ROOT_PATH must be a path like /wall: at / Gatewall would leave no path to the site")
    if path == _INTERNAL or path.startswith(f"{_INTERNAL}/"):
        raise ConfigError(f"ROOT_PATH must not be below {_INTERNAL}, which the nginx sample uses itself, not {text!r}")
    return path


def with_guard(place: Place, text: str) -> Place:
    """Return the place with host and port of the guard page; no host if it is the site's own or not known.

    Of several public URLs, the one under the site's parent domain is used. Raises ConfigError.
    """
    urls = env_public.public_urls(text)
    if not urls:
        return replace(place, guard_host="", port=None)
    parent = registrable_domain(place.host)
    own = [url for url in urls if host_of(url) == place.host]
    near = [url for url in urls if parent and registrable_domain(host_of(url)) == parent]
    url = (*own, *near, *urls)[0]
    return replace(place, guard_host="" if own else host_of(url), port=urlsplit(url).port)


def address(text: str, option: str) -> str:
    """Return an address as HOST:PORT. Raises ConfigError."""
    authority = Authority.parse(text)
    if authority is None or authority.port is None:
        raise ConfigError(f"{option} must be an address like 127.0.0.1:8000, not {text!r}")
    return str(authority)


def resolver(text: str, kind: str) -> str:
    """Return the address of a DNS server, empty without one. Raises ConfigError."""
    if text and kind != "nginx":
        raise ConfigError("--resolver must be left out: it is for nginx alone")
    found = parse_address(text) if text else None
    if text and found is None:
        raise ConfigError(f"--resolver must be the IP address of a DNS server, like 127.0.0.11, not {text!r}")
    return f"[{found}]" if ":" in str(found or "") else text


def max_connection_seconds(seconds: int, kind: str) -> int:
    """Return after how many seconds an open connection ends, 0 for never. Raises ConfigError."""
    if not 0 <= seconds <= _MAX_CONNECTION_SECONDS:
        raise ConfigError(f"--max-connection-seconds must be between 0 and {_MAX_CONNECTION_SECONDS}, not {seconds}")
    if seconds and kind not in LIMITS_CONNECTIONS:
        able = " and ".join(KINDS[each] for each in sorted(LIMITS_CONNECTIONS))
        raise ConfigError(f"--max-connection-seconds must be left out: only {able} can end a busy connection")
    return seconds


def auth_address(text: str) -> str:
    """Return the address of the data plane: HOST:PORT, or ``unix:/path``. Raises ConfigError."""
    path = text.removeprefix(UNIX)
    if path != text and path.startswith("/") and path.isprintable() and not set(path) & set(" ;{}\"'#"):
        return text
    return address(text, "--auth")
