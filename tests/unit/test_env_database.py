"""A database URL becomes a Django database configuration."""

import pytest

from gatewall.kernel.env_database import database
from gatewall.kernel.env_reader import ConfigError

DATABASE_OPTIONS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
PARAMETERS = [
    "sslmode=verify-full",
    "sslrootcert=/etc/a%20b.pem",
    "target_session_attrs=read-write",
    "options=-c%20search_path=a+b",
    "connect_timeout=9",
]


@pytest.mark.parametrize(
    ("url", "described"),
    [
        ("sqlite:///a/b.sqlite3", {"ENGINE": "gatewall.database.sqlite", "NAME": "a/b.sqlite3"}),
        ("sqlite:////a%20b.sqlite3", {"ENGINE": "gatewall.database.sqlite", "NAME": "/a b.sqlite3"}),
        (
            "postgres://us%40er:p%2Fw@db.example:6432/gate",
            {
                "ENGINE": "gatewall.database.postgresql",
                "NAME": "gate",
                "USER": "us@er",
                "PASSWORD": "p/w",
                "HOST": "db.example",
                "PORT": "6432",
                "DISABLE_SERVER_SIDE_CURSORS": False,
                "OPTIONS": DATABASE_OPTIONS,
            },
        ),
        (
            "postgresql://u:p@db.example/gate?pooler=transaction",
            {
                "ENGINE": "gatewall.database.postgresql",
                "NAME": "gate",
                "USER": "u",
                "PASSWORD": "p",
                "HOST": "db.example",
                "PORT": "5432",
                "DISABLE_SERVER_SIDE_CURSORS": True,
                "OPTIONS": DATABASE_OPTIONS,
            },
        ),
        (
            "postgresql://u:p@[2001:db8::1]:6432,Db2.example/gate?" + "&".join(PARAMETERS),
            {
                "ENGINE": "gatewall.database.postgresql",
                "NAME": "gate",
                "USER": "u",
                "PASSWORD": "p",
                "HOST": "2001:db8::1,Db2.example",
                "PORT": "6432,5432",
                "DISABLE_SERVER_SIDE_CURSORS": False,
                "OPTIONS": DATABASE_OPTIONS
                | {
                    "sslmode": "verify-full",
                    "sslrootcert": "/etc/a b.pem",
                    "target_session_attrs": "read-write",
                    "options": "-c search_path=a+b",
                    "connect_timeout": "9",
                },
            },
        ),
        (
            "postgresql://%2Frun%2Fpg/gate",
            {
                "ENGINE": "gatewall.database.postgresql",
                "NAME": "gate",
                "USER": "",
                "PASSWORD": "",
                "HOST": "/run/pg",
                "PORT": "5432",
                "DISABLE_SERVER_SIDE_CURSORS": False,
                "OPTIONS": DATABASE_OPTIONS,
            },
        ),
    ],
)
def test_a_database_url_is_parsed(url, described):
    assert database(url) == described


def test_a_parameter_that_is_not_known_is_named_and_its_value_is_not():
    with pytest.raises(ConfigError) as refused:
        database("postgresql://u:p@db/gate?sslmod=hunter2")

    assert str(refused.value) == "DATABASE_URL has a parameter sslmod: docs/configuration.md lists those that are known"
