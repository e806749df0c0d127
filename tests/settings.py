"""The settings of the tests: the real ones, over an environment that belongs to this run alone."""

import atexit
import os
import secrets
import shutil
import tempfile
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

_OURS = ("GATEWALL_", "ROOT_PATH", "CACHE_URL", "GEOIP_DATABASE", "GEOIP_ASN_DATABASE")
_FOLDER = Path(tempfile.mkdtemp(prefix="gatewall-tests-"))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)

# The variables of a developer's own installation must not affect a test, except DATABASE_URL.
for _name in [name for name in os.environ if name.startswith(_OURS)]:
    del os.environ[_name]
os.environ["GATEWALL_HOME"] = str(_FOLDER)
os.environ["GATEWALL_SECRET_KEY"] = secrets.token_urlsafe(48)
for _name in ("GATEWALL_JWT_KEYS", "GATEWALL_DATA_KEYS"):
    os.environ[_name] = f"tests:{urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b'=').decode()}"
os.environ["GATEWALL_LOG_LEVEL"] = "WARNING"

from gatewall.settings import *  # noqa: E402, F403 - the environment first
from gatewall.settings import CACHES, DATABASES  # noqa: E402 - needs Django

# Argon2id is slow; the tests of the hasher itself select it.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CACHES["default"]["KEY_PREFIX"] = f"tests-{secrets.token_hex(4)}"
_OPTIONS: Any = DATABASES["default"].get("OPTIONS")
# A file, not memory: threads wait for each other as in an installation.
if DATABASES["default"]["ENGINE"] == "gatewall.database.sqlite":
    DATABASES["default"]["TEST"] = {"NAME": str(_FOLDER / "tests.sqlite3")}
    # A hundred concurrent writers on a slow machine: SQLite's lock is not fair, and five seconds may be too few.
    _OPTIONS["timeout"] = 60
# Every test client builds its own middleware; reading all static files each time costs more than the test.
WHITENOISE_AUTOREFRESH = True
