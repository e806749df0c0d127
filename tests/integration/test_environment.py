"""The environment: every variable, good and bad, and each problem as one line that names it."""

import stat

import pytest

from gatewall.kernel import env
from gatewall.kernel.clientip import TrustedProxies
from tests.support.mmdb import write_mmdb

SECRET = "Yx3vQm8Lr0Tn5Kb2Wd7Hc4Jf9Pg6Zs1A"
KEYS = "k1:sfIGTqFk88MQGpuVcKQshQKGRBF3JVUXe8o0VhDfjeo"
DATA_KEYS = "d1:wSZzEX4tz0JpdiOc3fy-Kjt63KqL3UdR1igB34bUHZY"
ENOUGH = {"GATEWALL_SECRET_KEY": SECRET, "GATEWALL_JWT_KEYS": KEYS, "GATEWALL_DATA_KEYS": DATA_KEYS}
SECRETS = {
    "GATEWALL_SECRET_KEY": ("secret_key", SECRET[::-1]),
    "GATEWALL_JWT_KEYS": ("jwt_keys", KEYS.replace("k1", "k2")),
    "GATEWALL_DATA_KEYS": ("data_keys", DATA_KEYS.replace("d1", "d2")),
    "GATEWALL_ADMIN_PASSWORD": ("admin_password", "a good password"),
    "GATEWALL_ADMIN_RECOVERY_KEY": ("admin_recovery_key", "Rk7pX2mQ9vT4zB6nW1yH8cJ3fL5gD0sA"),
    "GATEWALL_METRICS_TOKEN": ("metrics_token", "Mt4bN8qZ1xV6rC3kP9wJ2hF7dS5gL0yT"),
    "DATABASE_URL": ("database", "postgresql://u:p@db.example/gate"),
    "CACHE_URL": ("cache_url", "redis://cache.example/0"),
}


def read(base, **variables):
    return env.read({**ENOUGH, **variables}, base)


def refusal(base, **variables):
    with pytest.raises(env.ConfigError) as caught:
        read(base, **variables)
    return str(caught.value)


def test_everything_but_the_keys_has_a_default(tmp_path):
    config = read(tmp_path)

    assert (config.root_path, config.bind, config.port, config.workers) == ("/wall", "127.0.0.1", 9999, 2)
    assert (config.log_level, config.demo, config.demo_port) == ("INFO", True, 8080)
    assert config.trusted_proxies == TrustedProxies.parse(["127.0.0.0/8", "::1"])
    assert (config.cookie_domain, config.public_url, config.cache_url, config.geoip_database) == (None,) * 4
    assert (config.admin_password, config.admin_recovery_key, config.metrics_token) == (None,) * 3
    assert config.home == tmp_path / "var"
    assert config.database == {
        "ENGINE": "gatewall.database.sqlite",
        "NAME": str(tmp_path / "var" / "gatewall.sqlite3"),
    }


GOOD = [
    ("ROOT_PATH", "/", "root_path", ""),
    ("ROOT_PATH", "", "root_path", ""),
    ("ROOT_PATH", "/a/b/", "root_path", "/a/b"),
    ("GATEWALL_PORT", "1", "port", 1),
    ("GATEWALL_PORT", "65535", "port", 65535),
    ("GATEWALL_BIND", "0.0.0.0", "bind", "0.0.0.0"),
    ("GATEWALL_BIND", "::1", "bind", "::1"),
    ("GATEWALL_WORKERS", "64", "workers", 64),
    ("GATEWALL_LOG_LEVEL", "debug", "log_level", "DEBUG"),
    ("GATEWALL_LOG_FORMAT", "json", "log_format", "JSON"),
    ("GATEWALL_DEMO", "0", "demo", False),
    ("GATEWALL_SPOOL_SYNC", "1", "spool_sync", True),
    ("GATEWALL_CONFIRM_SECONDS", "5", "confirm_seconds", 5),
    ("GATEWALL_DATABASE_PATIENCE_SECONDS", "60", "database_patience_seconds", 60),
    ("GATEWALL_DEMO_PORT", "8081", "demo_port", 8081),
    ("GATEWALL_TRUSTED_PROXIES", "", "trusted_proxies", TrustedProxies(())),
    (
        "GATEWALL_TRUSTED_PROXIES",
        " 10.0.0.1 ,fd00::/8,",
        "trusted_proxies",
        TrustedProxies.parse(["10.0.0.1", "fd00::/8"]),
    ),
    ("GATEWALL_COOKIE_DOMAIN", ".Example.org", "cookie_domain", "example.org"),
    ("GATEWALL_PUBLIC_URL", "https://Wall.example.org/", "public_url", "https://wall.example.org"),
    ("GATEWALL_PUBLIC_URL", "http://wall.example.org:8080", "public_url", "http://wall.example.org:8080"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org:443", "public_url", "https://wall.example.org"),
    ("GATEWALL_PUBLIC_URL", "http://[::1]:80", "public_url", "http://[::1]"),
    ("GATEWALL_PUBLIC_URL", "http://wall.example.org:443", "public_url", "http://wall.example.org:443"),
    ("CACHE_URL", "local", "cache_url", None),
    ("CACHE_URL", "valkeys://cache.example/1", "cache_url", "rediss://cache.example/1"),
    ("GATEWALL_SERVICE_PORT", "80", "port", 9999),
    ("GATEWALL_PORT_9999_TCP", "tcp://10.0.0.1:9999", "port", 9999),
    ("GATEWALL_API_TOKEN", "gwa_of_a_command", "port", 9999),
    ("PATH", "/bin", "port", 9999),
]


@pytest.mark.parametrize(("name", "text", "field", "value"), GOOD)
def test_a_good_value_is_read(tmp_path, name, text, field, value):
    assert getattr(read(tmp_path, **{name: text}), field) == value


BAD = [
    ("ROOT_PATH", "wall"),
    ("ROOT_PATH", "//wall"),
    ("ROOT_PATH", "/a/../b"),
    ("ROOT_PATH", "/a b"),
    ("ROOT_PATH", "/wäll"),
    ("GATEWALL_PORT", "0"),
    ("GATEWALL_PORT", "65536"),
    ("GATEWALL_PORT", "http"),
    ("GATEWALL_PORT", ""),
    ("GATEWALL_PORT", "1e3"),
    ("GATEWALL_PORT", "\u0669\u0669"),
    ("GATEWALL_PORT", "tcp://10.0.0.1:9999"),
    ("GATEWALL_BIND", "127.0.0.1:80:90"),
    ("GATEWALL_BIND", "not an address"),
    ("GATEWALL_WORKERS", "0"),
    ("GATEWALL_WORKERS", "65"),
    ("GATEWALL_LOG_LEVEL", "LOUD"),
    ("GATEWALL_LOG_FORMAT", "xml"),
    ("GATEWALL_DEMO", "yes"),
    ("GATEWALL_SPOOL_SYNC", "2"),
    ("GATEWALL_DEMO", ""),
    ("GATEWALL_CONFIRM_SECONDS", "4"),
    ("GATEWALL_DATABASE_PATIENCE_SECONDS", "0"),
    ("GATEWALL_DATABASE_PATIENCE_SECONDS", "61"),
    ("GATEWALL_CONFIRM_SECONDS", "3601"),
    ("GATEWALL_DEMO_PORT", "-1"),
    ("GATEWALL_TRUSTED_PROXIES", "0.0.0.0/0"),
    ("GATEWALL_TRUSTED_PROXIES", "::/0"),
    ("GATEWALL_TRUSTED_PROXIES", "10.0.0.1/8"),
    ("GATEWALL_TRUSTED_PROXIES", "proxy.example"),
    ("GATEWALL_TRUSTED_PROXIES", "*"),
    ("GATEWALL_COOKIE_DOMAIN", "localhost"),
    ("GATEWALL_COOKIE_DOMAIN", "example.org:443"),
    ("GATEWALL_COOKIE_DOMAIN", "example org"),
    ("GATEWALL_COOKIE_DOMAIN", "127.0.0.1"),
    ("GATEWALL_COOKIE_DOMAIN", "co.uk"),
    ("GATEWALL_COOKIE_DOMAIN", ".github.io"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org,"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org,http://wall.example.com"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org,https://guard.example.org"),
    ("GATEWALL_PUBLIC_URL", "wall.example.org"),
    ("GATEWALL_PUBLIC_URL", "ftp://wall.example.org"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org /"),
    ("GATEWALL_PUBLIC_URL", "https://wall.exam\tple.org"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org\\x"),
    ("GATEWALL_PUBLIC_URL", "https://admin@wall.example.org"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org:"),
    ("GATEWALL_PUBLIC_URL", "https://%77all.example.org"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org/wall"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org/?a=b"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org/#a"),
    ("GATEWALL_PUBLIC_URL", "https://user@wall.example.org"),
    ("GATEWALL_PUBLIC_URL", "https://"),
    ("GATEWALL_PUBLIC_URL", "https://[::1"),
    ("GATEWALL_PUBLIC_URL", "https://wall.example.org:port"),
    ("DATABASE_URL", "mysql://u:hunter2@db/gate"),
    ("DATABASE_URL", "postgresql://u:hunter2@db:port/gate"),
    ("DATABASE_URL", "postgresql://u:hunter2@[db/gate"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?pooler=statement"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?pooler="),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?sslmode=hunter2"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?sslmode=require&sslmode=require"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?sslmod=require"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?password=hunter2"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?hunter2@=x"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?sslrootcert="),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?connect_timeout=0"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate?target_session_attrs=standby"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate#hunter2"),
    ("DATABASE_URL", "postgresql://u:hunter2@db:0/gate"),
    ("DATABASE_URL", "postgresql://u:hunter2@db,other:port/gate"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/"),
    ("DATABASE_URL", "postgresql://u:hunter2@db/gate/other"),
    ("DATABASE_URL", "postgresql://u:hunter2?x@db/gate"),
    ("DATABASE_URL", "postgresql://u:hunter2/x@db/gate"),
    ("DATABASE_URL", "sqlite:///hunter2.sqlite3?mode=ro"),
    ("DATABASE_URL", "hunter2"),
    ("DATABASE_URL", "sqlite://"),
    ("DATABASE_URL", "sqlite:///"),
    ("DATABASE_URL", "sqlite:///:memory:"),
    ("DATABASE_URL", "sqlite://relative.sqlite3"),
    ("GATEWALL_PORT", "8080"),
    ("GATEWALL_PORT", "9998"),
    ("GEOIP_DATABASE", __file__),
    ("GEOIP_DATABASE", "/dev/null"),
    ("GEOIP_ASN_DATABASE", "/dev/null"),
    ("GEOIP_ASN_DATABASE", "/nowhere/asn.mmdb"),
    ("CACHE_URL", "memcached://hunter2@cache"),
    ("CACHE_URL", "redis"),
    ("GEOIP_DATABASE", "/nowhere/geo.mmdb"),
    ("GEOIP_DATABASE", "/"),
    ("GATEWALL_SECRET_KEY", "hunter2"),
    ("GATEWALL_SECRET_KEY", "a" * 64),
    ("GATEWALL_JWT_KEYS", "hunter2" * 8),
    ("GATEWALL_JWT_KEYS", f"{KEYS},{KEYS}"),
    ("GATEWALL_JWT_KEYS", "k1:AAECAwQFBgcICQoLDA0ODw,k2:AAECAwQFBgcICQoLDA0ODw"),
    ("GATEWALL_ADMIN_RECOVERY_KEY", "hunter2"),
    ("GATEWALL_METRICS_TOKEN", "hunter2"),
    ("GATEWALL_DATA_KEYS", "hunter2" * 8),
    ("GATEWALL_DATA_KEYS", f"{DATA_KEYS},{DATA_KEYS}"),
    ("GATEWALL_COLOUR", "red"),
    ("GATEWALL_", "red"),
    ("GATEWALL_PORTS", "80"),
]


@pytest.mark.parametrize(("name", "text"), BAD)
def test_a_bad_value_is_one_line_that_names_the_variable(tmp_path, name, text):
    words = refusal(tmp_path, **{name: text})

    assert words.startswith(name)
    assert "\n" not in words
    assert "hunter2" not in words


@pytest.mark.parametrize("name", ENOUGH)
def test_a_missing_key_is_one_line_with_the_command_that_makes_it(tmp_path, name):
    with pytest.raises(env.ConfigError, match=f"{name} is not set: .*gatewall keys"):
        env.read({key: value for key, value in ENOUGH.items() if key != name}, tmp_path)


@pytest.mark.parametrize(("name", "expected"), SECRETS.items())
def test_a_secret_comes_from_a_file_as_well(tmp_path, name, expected):
    field, text = expected
    file = tmp_path / "secret"
    file.write_text(f"  {text}\n")
    without = {key: value for key, value in ENOUGH.items() if key != name}

    from_file = env.read({**without, f"{name}_FILE": str(file)}, tmp_path)

    assert getattr(from_file, field) == getattr(env.read({**without, name: text}, tmp_path), field)


@pytest.mark.parametrize(("name", "expected"), SECRETS.items())
def test_a_secret_and_its_file_at_once_are_refused(tmp_path, name, expected):
    file = tmp_path / "secret"
    file.write_text(expected[1])

    assert refusal(tmp_path, **{name: expected[1], f"{name}_FILE": str(file)}).startswith(f"{name} and {name}_FILE")


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"], ids=["missing", "empty", "blank", "not UTF-8"])
def test_a_file_without_a_secret_is_refused(tmp_path, name, content):
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    variables = {key: value for key, value in ENOUGH.items() if key != name} | {f"{name}_FILE": str(file)}

    with pytest.raises(env.ConfigError, match=f"{name}_FILE"):
        env.read(variables, tmp_path)


def test_keys_are_found_in_the_state_folder(tmp_path):
    folder = tmp_path / "var" / "secrets"
    folder.mkdir(parents=True)
    (folder / "secret-key").write_text(SECRET)
    (folder / "jwt-keys").write_text(KEYS)
    (folder / "data-keys").write_text(DATA_KEYS)

    config = env.read({}, tmp_path)

    assert (config.secret_key, config.jwt_keys.signing.kid, config.data_keys.signing.kid) == (SECRET, "k1", "d1")


def test_generated_keys_are_valid_and_private(tmp_path):
    from gatewall.credentials import keyfiles  # noqa: PLC0415

    keyfiles.make_missing(tmp_path / "var" / "secrets")
    files = list((tmp_path / "var" / "secrets").iterdir())

    assert env.read({}, tmp_path).admin_recovery_key
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_no_secret_is_in_the_text_of_the_configuration(tmp_path):
    variables = {name: text for name, (_, text) in SECRETS.items()}
    text = repr(env.read(variables, tmp_path))

    assert not [secret for secret in (*variables.values(), KEYS[3:], DATA_KEYS[3:], "u:p@", "'p'") if secret in text]


@pytest.mark.parametrize(
    "variables",
    [
        {"GATEWALL_PORT": "8080", "GATEWALL_DEMO": "0"},
        {"GATEWALL_PORT": "9998", "GATEWALL_AUTH_SOCKET": "auth.sock"},
    ],
    ids=repr,
)
def test_a_port_without_a_listener_is_free(tmp_path, variables):
    assert read(tmp_path, **variables).port == int(variables["GATEWALL_PORT"])


def test_two_variables_with_one_port_are_both_named(tmp_path):
    words = refusal(tmp_path, GATEWALL_AUTH_PORT="8081", GATEWALL_DEMO_PORT="8081")

    assert words.startswith("GATEWALL_AUTH_PORT and GATEWALL_DEMO_PORT are both 8081")


def test_a_geo_database_is_known_by_its_metadata(tmp_path):
    path = write_mmdb(tmp_path / "geo.mmdb", {"198.51.100.0/24": {"country": "NZ"}})

    assert read(tmp_path, GEOIP_DATABASE="geo.mmdb").geoip_database == path
