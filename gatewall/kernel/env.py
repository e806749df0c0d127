"""Read the environment variables once, into typed values. Errors name the variable. Pure: standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import combinations
from pathlib import Path
from typing import Any

from gatewall.credentials.keyring import KeyRing
from gatewall.credentials.manifest_key import from_text, manifest_key
from gatewall.engine.hosts import Authority
from gatewall.kernel import env_mail, env_public, geo_file, log_lines
from gatewall.kernel.clientip import TrustedProxies
from gatewall.kernel.container_networks import expanded
from gatewall.kernel.env_database import database
from gatewall.kernel.env_mail import MailSender, MailServer
from gatewall.kernel.env_reader import ConfigError, Reader, refuse_shared

__all__ = ["LOOPBACK_PROXIES", "Config", "ConfigError", "read", "secret_file", "secret_files"]

LOOPBACK_PROXIES = "127.0.0.0/8,::1"
_SECRET_FILES = {
    "GATEWALL_SECRET_KEY": "secret-key",
    "GATEWALL_JWT_KEYS": "jwt-keys",
    "GATEWALL_DATA_KEYS": "data-keys",
    "GATEWALL_ADMIN_RECOVERY_KEY": "admin-recovery-key",
}
_MANIFEST_KEY = "GATEWALL_MANIFEST_KEY"
_SECRETS = (
    *_SECRET_FILES,
    _MANIFEST_KEY,
    "GATEWALL_ADMIN_PASSWORD",
    "GATEWALL_METRICS_TOKEN",
    "GATEWALL_SMTP_URL",
    "DATABASE_URL",
    "CACHE_URL",
)
_WITHOUT_PREFIX = frozenset({"root_path", "database", "cache_url", "geoip_database", "geoip_asn_database"})
_WITHOUT_VARIABLE = frozenset({"other_public_urls"})  # from GATEWALL_PUBLIC_URL
OF_COMMANDS = frozenset({"GATEWALL_API_TOKEN"})
"""Variables of commands that use the API; they may also be set where Gatewall is installed."""
_INJECTED_BY_KUBERNETES = ("GATEWALL_SERVICE_", "GATEWALL_PORT_")
_PATH_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./")


@dataclass(frozen=True, slots=True)
class Config:
    """Configuration from the environment, with defaults filled in."""

    root_path: str
    home: Path
    bind: str
    port: int
    auth_port: int
    auth_socket: Path | None
    workers: int
    spool_sync: bool
    confirm_seconds: int
    log_level: str
    log_format: str
    demo: bool
    demo_port: int
    trusted_proxies: TrustedProxies
    cookie_domain: str | None
    public_url: str | None
    other_public_urls: tuple[str, ...]
    """Further addresses of the guard page, one per parent domain of sites."""
    database: Mapping[str, object] = field(repr=False)
    database_patience_seconds: int
    cache_url: str | None = field(repr=False)
    geoip_database: Path | None
    geoip_asn_database: Path | None
    secret_key: str = field(repr=False)
    manifest_key: bytes = field(repr=False)
    jwt_keys: KeyRing
    data_keys: KeyRing
    admin_password: str | None = field(repr=False)
    admin_recovery_key: str | None = field(repr=False)
    metrics_token: str | None = field(repr=False)
    smtp_url: MailServer | None
    mail_from: MailSender | None

    @property
    def is_of_data_plane(self) -> bool:
        """True if this environment has only the secrets of a data plane: no ``secret_key``, no ``data_keys``."""
        return not self.secret_key

    @property
    def geo_database(self) -> Path:
        """Path of the geo database: the configured one, or where ``gatewall geo install`` installs it."""
        return self.geoip_database or geo_file.installed(self.home)


_NAMES = {
    f"GATEWALL_{each.name.upper()}" for each in fields(Config) if each.name not in _WITHOUT_PREFIX | _WITHOUT_VARIABLE
}
_NAMES |= {f"{name}_FILE" for name in _SECRETS if name in _NAMES}
_NAMES.add("GATEWALL_ROLE")  # read by deploy/docker/entrypoint


def read(environ: Mapping[str, str], base: Path) -> Config:
    """Return the configuration; relative paths are below ``base``.

    With ``GATEWALL_MANIFEST_KEY``, it is the configuration of a data plane, without ``secret_key`` and ``data_keys``.
    Raises ConfigError for the first unknown variable or bad value.
    """
    _refuse_unknown(environ)
    home = base / (environ.get("GATEWALL_HOME") or "var")
    reader = _reader(environ, home)
    public_urls = env_public.public_urls(environ.get("GATEWALL_PUBLIC_URL", ""))
    config = Config(
        root_path=root_path(environ.get("ROOT_PATH", "/wall")),
        home=home,
        bind=_bind(environ.get("GATEWALL_BIND", "127.0.0.1")),
        port=reader.integer("GATEWALL_PORT", default=9999, minimum=1, maximum=65535),
        auth_port=reader.integer("GATEWALL_AUTH_PORT", default=9998, minimum=1, maximum=65535),
        auth_socket=base / environ["GATEWALL_AUTH_SOCKET"] if environ.get("GATEWALL_AUTH_SOCKET") else None,
        workers=reader.integer("GATEWALL_WORKERS", default=2, minimum=1, maximum=64),
        spool_sync=reader.boolean("GATEWALL_SPOOL_SYNC", default=False),
        confirm_seconds=reader.integer("GATEWALL_CONFIRM_SECONDS", default=300, minimum=5, maximum=3600),
        log_level=reader.choice("GATEWALL_LOG_LEVEL", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR")),
        log_format=reader.choice("GATEWALL_LOG_FORMAT", default=log_lines.LINE, choices=log_lines.FORMATS),
        demo=reader.boolean("GATEWALL_DEMO", default=True),
        demo_port=reader.integer("GATEWALL_DEMO_PORT", default=8080, minimum=1, maximum=65535),
        trusted_proxies=_trusted_proxies(environ.get("GATEWALL_TRUSTED_PROXIES", LOOPBACK_PROXIES)),
        cookie_domain=env_public.cookie_domain(environ.get("GATEWALL_COOKIE_DOMAIN", ""), public_urls),
        public_url=public_urls[0] if public_urls else None,
        other_public_urls=public_urls[1:],
        database=database(reader.secret("DATABASE_URL") or f"sqlite:///{home / 'gatewall.sqlite3'}"),
        database_patience_seconds=reader.integer(
            "GATEWALL_DATABASE_PATIENCE_SECONDS", default=3, minimum=1, maximum=60
        ),
        cache_url=_cache_url(reader.secret("CACHE_URL")),
        **_geo_databases(environ, base, home),
        **_policy_keys(reader, environ),
        jwt_keys=reader.key_ring("GATEWALL_JWT_KEYS"),
        admin_password=reader.secret("GATEWALL_ADMIN_PASSWORD"),
        admin_recovery_key=reader.token("GATEWALL_ADMIN_RECOVERY_KEY"),
        metrics_token=reader.token("GATEWALL_METRICS_TOKEN"),
        **_mail(reader, environ, public_urls),
    )
    _refuse_shared_ports(config)
    _refuse_shared_secrets(config)
    return config


def read_all_secrets(environ: Mapping[str, str], base: Path) -> Config:
    """Return the configuration of a process with all secrets. Raises ConfigError, also for one of a data plane."""
    config = read(environ, base)
    if config.is_of_data_plane:
        raise ConfigError(
            "GATEWALL_MANIFEST_KEY is for the data plane alone: everything else needs GATEWALL_SECRET_KEY"
        )
    return config


def _policy_keys(reader: Reader, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the secret key, the manifest key and the data keys; a data plane has only the manifest key."""
    text = reader.secret(_MANIFEST_KEY)
    if text is None:
        secret_key, data_keys = reader.key("GATEWALL_SECRET_KEY"), reader.key_ring("GATEWALL_DATA_KEYS")
        return {"secret_key": secret_key, "manifest_key": manifest_key(secret_key), "data_keys": data_keys}
    for name in ("GATEWALL_SECRET_KEY", "GATEWALL_DATA_KEYS"):
        if environ.get(name) or environ.get(f"{name}_FILE"):
            raise ConfigError(f"{_MANIFEST_KEY} is for a data plane, which gets no {name}: set one of the two")
    key = from_text(text)
    if key is None:
        raise ConfigError(f"{_MANIFEST_KEY} must be a key created by `gatewall keys`")
    return {"secret_key": "", "manifest_key": key, "data_keys": KeyRing(())}


def _refuse_shared_secrets(config: Config) -> None:
    refuse_shared(
        {
            "GATEWALL_SECRET_KEY": config.secret_key,
            "GATEWALL_JWT_KEYS": config.jwt_keys,
            "GATEWALL_DATA_KEYS": config.data_keys,
            "GATEWALL_ADMIN_RECOVERY_KEY": config.admin_recovery_key,
            "GATEWALL_METRICS_TOKEN": config.metrics_token,
        }
    )


def secret_file(name: str, environ: Mapping[str, str], home: Path) -> Path | None:
    """Return the file of a secret, or None if the environment variable contains it."""
    return _reader(environ, home).file(name)


def secret_files(environ: Mapping[str, str], home: Path) -> list[Path]:
    """Return the existing secret files."""
    reader = _reader(environ, home)
    return [path for name in _SECRETS if (path := reader.file(name)) and path.exists()]


def _reader(environ: Mapping[str, str], home: Path) -> Reader:
    return Reader(environ, {name: home / "secrets" / file for name, file in _SECRET_FILES.items()})


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    for name in environ:
        if not name.startswith("GATEWALL_") or name in _NAMES or name in OF_COMMANDS:
            continue
        if not name.startswith(_INJECTED_BY_KUBERNETES):
            raise ConfigError(f"{name} is not a setting of Gatewall; docs/configuration.md lists them")


def _refuse_shared_ports(config: Config) -> None:
    ports = {"GATEWALL_PORT": config.port}
    if config.auth_socket is None:
        ports["GATEWALL_AUTH_PORT"] = config.auth_port
    if config.demo:
        ports["GATEWALL_DEMO_PORT"] = config.demo_port
    for (name, port), (other, taken) in combinations(ports.items(), 2):
        if port == taken:
            raise ConfigError(f"{name} and {other} are both {port}: each needs a port of its own")


def root_path(text: str) -> str:
    """Return the prefix of all paths, without a slash at its end; empty for ``/``. Raises ConfigError."""
    path = text.rstrip("/")
    if path and not (path.startswith("/") and "//" not in path and _PATH_CHARACTERS.issuperset(path)):
        raise ConfigError(f"ROOT_PATH must be a path like /wall, not {text!r}")
    if {".", ".."} & set(path.split("/")):
        raise ConfigError(f"ROOT_PATH must not have dot segments, not {text!r}")
    return path


def _bind(text: str) -> str:
    if Authority.parse(f"[{text}]" if ":" in text else text) is None:
        raise ConfigError(f"GATEWALL_BIND must be an address, not {text!r}")
    return text


def _trusted_proxies(text: str) -> TrustedProxies:
    try:
        return TrustedProxies.parse(expanded(part.strip() for part in text.split(",") if part.strip()))
    except ValueError as error:
        raise ConfigError(f"GATEWALL_TRUSTED_PROXIES: {error}") from None


def _cache_url(url: str | None) -> str | None:
    if url is None or url == "local":
        return None
    scheme, separator, rest = url.partition("://")
    if scheme not in {"redis", "rediss", "valkey", "valkeys", "unix"} or not separator:
        raise ConfigError("CACHE_URL must be local, redis://... or valkey://...")
    return f"{scheme.replace('valkey', 'redis')}://{rest}"


def _mail(reader: Reader, environ: Mapping[str, str], public_urls: tuple[str, ...]) -> dict[str, Any]:
    url, sender = reader.secret("GATEWALL_SMTP_URL"), environ.get("GATEWALL_MAIL_FROM", "")
    server, mail_from = env_mail.mail(url, sender, next(iter(public_urls), None))
    return {"smtp_url": server, "mail_from": mail_from}


def _geo_databases(environ: Mapping[str, str], base: Path, home: Path) -> dict[str, Any]:
    return {
        "geoip_database": _geo_database(environ.get("GEOIP_DATABASE", ""), base, home),
        "geoip_asn_database": _asn_database(environ.get("GEOIP_ASN_DATABASE", ""), base),
    }


def _geo_database(text: str, base: Path, home: Path) -> Path | None:
    path = base / text if text else geo_file.installed(home)
    if not (text or path.exists()):
        return None
    try:
        geo_file.refuse_other_files(path, text or str(path))
    except ValueError as error:
        raise ConfigError(f"GEOIP_DATABASE names {error}") from None
    return path


def _asn_database(text: str, base: Path) -> Path | None:
    if not text:
        return None
    try:
        geo_file.refuse_other_files(base / text, text)
    except ValueError as error:
        raise ConfigError(f"GEOIP_ASN_DATABASE names {error}") from None
    return base / text
