"""Django's settings, from the environment only (docs/configuration.md)."""

import gc
import os
from pathlib import Path

from gatewall.kernel import env, log_lines

# Garbage collection would find nothing and take a sixth of the start-up time. ``gatewall/apps.py`` turns it on again.
gc.disable()

BASE_DIR = Path(__file__).resolve().parent.parent
CONFIG = env.read_all_secrets(os.environ, BASE_DIR)
os.umask(0o077)  # only the owner may read database, policy and spool; child processes inherit this
CONFIG.home.mkdir(mode=0o700, parents=True, exist_ok=True)

ROOT_PATH = CONFIG.root_path
GATEWALL_HOME = CONFIG.home
GATEWALL_BIND = CONFIG.bind
GATEWALL_PORT = CONFIG.port
GATEWALL_AUTH_PORT = CONFIG.auth_port
GATEWALL_AUTH_SOCKET = CONFIG.auth_socket
GATEWALL_DEMO = CONFIG.demo
GATEWALL_DEMO_PORT = CONFIG.demo_port
GATEWALL_TRUSTED_PROXIES = CONFIG.trusted_proxies
GATEWALL_CONFIRM_SECONDS = CONFIG.confirm_seconds
GATEWALL_COOKIE_DOMAIN = CONFIG.cookie_domain
GATEWALL_PUBLIC_URL = CONFIG.public_url
GATEWALL_OTHER_PUBLIC_URLS = CONFIG.other_public_urls
GATEWALL_GEOIP_DATABASE = CONFIG.geoip_database
GATEWALL_ADMIN_PASSWORD = CONFIG.admin_password
GATEWALL_ADMIN_RECOVERY_KEY = CONFIG.admin_recovery_key
GATEWALL_METRICS_TOKEN = CONFIG.metrics_token
GATEWALL_MAIL_SERVER = CONFIG.smtp_url
GATEWALL_MAIL_SENDER = CONFIG.mail_from
GATEWALL_JWT_KEYS = CONFIG.jwt_keys
GATEWALL_DATA_KEYS = CONFIG.data_keys

SECRET_KEY = CONFIG.secret_key
DEBUG = False
# Visitors reach the guard page under every host that a proxy protects. No page trusts the Host
# header: the return URL (rd) is checked against the registered domains, and no absolute link is built.
ALLOWED_HOSTS = ["*"]

INSTALLED_APPS = [
    "gatewall.apps.GatewallConfig",
    "accounts",
    "policies",
    "licensing.apps.LicensingConfig",
    "audit",
    "webhooks",
    "gatewall.console.apps.ConsoleConfig",
    "gatewall.whatif.backtest.apps.BacktestConfig",
    "gatewall.admin.site.GatewallAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]
MIDDLEWARE = [
    "gatewall.api.middleware.ResponseHeaders",
    "django.middleware.security.SecurityMiddleware",
    "gatewall.portal.error_pages.ErrorPages",
    "gatewall.api.middleware.BodyLimit",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "gatewall.api.middleware.Language",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "gatewall" / "portal" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
ROOT_URLCONF = "gatewall.urls"
WSGI_APPLICATION = "gatewall.wsgi.application"
APPEND_SLASH = False
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # a larger body is 413

_SQLITE = CONFIG.database["ENGINE"] == "gatewall.database.sqlite"
_SQLITE_OPTIONS = {
    "OPTIONS": {
        # IMMEDIATE: a transaction that will write takes the lock when it begins, so that two
        # writers wait for each other instead of failing in the middle.
        "transaction_mode": "IMMEDIATE",
        "timeout": 5,
        # FULL: a commit survives a power failure. Only the agent checkpoints, because several
        # processes that do can lose a commit (gatewall/database/sqlite/upkeep.py).
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
        "PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=8388608;",
    }
}
DATABASES = {
    "default": {
        **CONFIG.database,
        "ATOMIC_REQUESTS": False,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": not _SQLITE,
        **(_SQLITE_OPTIONS if _SQLITE else {"PATIENCE_SECONDS": CONFIG.database_patience_seconds}),
    },
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {
    "default": {
        "BACKEND": "gatewall.database.shared_cache.SharedCache",
        "LOCATION": CONFIG.cache_url,
        "KEY_PREFIX": "gatewall",
        "OPTIONS": {
            "serializer": "gatewall.database.shared_cache.PlainSerializer",
            "pool_class": "gatewall.database.shared_cache.BoundedPool",
            # A revocation waits for the cache no longer than this; redis-py's own limit is 5 s.
            "socket_timeout": 0.25,
            "socket_connect_timeout": 0.25,
        },
    }
    if CONFIG.cache_url
    else {"BACKEND": "gatewall.database.local_cache.LocalCache", "LOCATION": "gatewall"},
}

SILENCED_SYSTEM_CHECKS = [
    "auth.W004",  # the name is unique ignoring case, which Django does not recognize as unique
    "security.W004",  # HSTS is set by the proxy, which terminates TLS
    "security.W008",  # the same for the redirect to https
    "security.W012",  # gatewall.W002 covers both cookies, and names the setting
    "security.W016",  # the same
]
AUTH_USER_MODEL = "accounts.User"
LOGIN_REDIRECT_URL = "admin:index"
AUTHENTICATION_BACKENDS = ["accounts.backends.AccountsBackend"]
PASSWORD_HASHERS = ["accounts.hashers.Argon2idHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "accounts.validators.LengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.api_tokens.authentication.ApiTokenAuthentication",
        "accounts.authentication.ApiAuthentication",
        "accounts.authentication.AdminSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["gatewall.api.permissions.IsAdmin"],
    "DEFAULT_PARSER_CLASSES": ["gatewall.api.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": [
        "rest_framework.renderers.JSONRenderer",
        "gatewall.api.browsable.Page",
    ],
    "DEFAULT_PAGINATION_CLASS": "gatewall.api.pagination.Pages",
    "DEFAULT_METADATA_CLASS": "gatewall.api.browsable.Methods",
    "DEFAULT_SCHEMA_CLASS": "gatewall.api.schema.OperationSchema",
    "EXCEPTION_HANDLER": "gatewall.api.problems.problem_response",
    "DATETIME_FORMAT": "%Y-%m-%dT%H:%M:%SZ",
    "URL_FORMAT_OVERRIDE": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Gatewall",
    "DESCRIPTION": "The management API of Gatewall. The gate itself (`/auth*`) speaks the protocols of proxies.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVERS": [{"url": ROOT_PATH or "/"}],
    "SCHEMA_PATH_PREFIX": ROOT_PATH,
    "SCHEMA_PATH_PREFIX_TRIM": True,
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["gatewall.api.permissions.IsAdmin"],
    "POSTPROCESSING_HOOKS": ["gatewall.api.schema.complete"],
}
SIMPLE_JWT = {
    "TOKEN_TYPE_CLAIM": "typ",
    "USER_ID_CLAIM": "sub",
    "JTI_CLAIM": "jti",
    "UPDATE_LAST_LOGIN": False,
}

LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "gatewall" / pages / "locale" for pages in ("portal", "console")]
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
FORMAT_MODULE_PATH = ["gatewall.console.formats"]
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = f"{ROOT_PATH.lstrip('/')}/static/" if ROOT_PATH else "static/"
STATICFILES_DIRS = [BASE_DIR / "gatewall" / "portal" / "static"]
WHITENOISE_USE_FINDERS = True  # no collectstatic: the files are read from their folders, once, at start
WHITENOISE_AUTOREFRESH = False

# The Django admin has its own cookie, for its own host and path.
SESSION_ENGINE = "accounts.session_store"
SESSION_COOKIE_NAME = "gatewall.admin"
SESSION_COOKIE_PATH = f"{ROOT_PATH}/"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = bool(CONFIG.public_url and CONFIG.public_url.startswith("https://"))
CSRF_COOKIE_NAME = "gatewall.csrf"
CSRF_COOKIE_PATH = f"{ROOT_PATH}/"
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE
CSRF_TRUSTED_ORIGINS = [CONFIG.public_url, *CONFIG.other_public_urls] if CONFIG.public_url else []
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

LOGGING = log_lines.configuration(CONFIG.log_level, CONFIG.log_format)
