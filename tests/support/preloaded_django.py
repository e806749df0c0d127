"""Import Django and the product in advance, for forked processes that then read their installation's settings.

While the modules are imported, they may read only settings that are the same in every installation, and those that
``_setup`` sets again. If a module reads another setting, the import fails here.
"""

import gc
import importlib
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import django
from django import conf, db
from django.utils.functional import empty

from gatewall.credentials import keyfiles

SETTINGS = "gatewall.settings"
_MODULES = (
    *("gatewall.urls", "gatewall.agent.in_control_plane", "gatewall.agent.agent", "gatewall.gate.wsgi"),
    *("gatewall.gate.build", "gatewall.gate.shadow_follower", "gatewall.health.uptime", "gatewall.portal.first_run"),
    *("gatewall.publication.standby", "gatewall.publication.control_plane"),
    *("gatewall.install.backup.creating", "gatewall.install.backup.restoring"),
)
_READ_SETTINGS = (SETTINGS, "gatewall.urls")
"""Modules that depend on the installation: each process imports them itself."""
_SAME = {
    *("AUTH_USER_MODEL", "BASE_DIR", "DEBUG", "DEFAULT_AUTO_FIELD", "INSTALLED_APPS", "LANGUAGE_CODE", "LOCALE_PATHS"),
    *("REST_FRAMEWORK", "SIMPLE_JWT"),
}
_SET_AGAIN = {"DATABASES", "LOGGING", "ROOT_PATH", "SECRET_KEY", "SPECTACULAR_SETTINGS"}
_first_setup = django.setup


class WhileImporting:
    """The settings that modules may read while they are imported."""

    def __init__(self, settings: conf.Settings | ModuleType, ours: ModuleType) -> None:
        self._settings, self._ours = settings, ours

    def __getattr__(self, name: str) -> Any:
        if hasattr(self._ours, name) and name not in _SAME | _SET_AGAIN:
            raise RuntimeError(f"{name} is read while a module is imported, and differs between installations")
        return getattr(self._settings, name)


def load() -> None:
    """Import the modules with the settings of an empty installation, and forget these settings."""
    mask, environment = os.umask(0), dict(os.environ)
    os.umask(mask)
    with tempfile.TemporaryDirectory() as home:
        keyfiles.make_missing(Path(home) / "secrets")
        os.environ.clear()
        os.environ.update(GATEWALL_HOME=home, DJANGO_SETTINGS_MODULE=SETTINGS)
        conf.settings._wrapped = WhileImporting(conf.Settings(SETTINGS), sys.modules[SETTINGS])
        _first_setup()
        for name in _MODULES:
            importlib.import_module(name)
    os.environ.clear()
    os.environ.update(environment)
    os.umask(mask)
    _forget(_READ_SETTINGS)
    django.setup = _setup


def _forget(modules: Sequence[str]) -> None:
    conf.settings._wrapped = empty
    for name in modules:
        del sys.modules[name]
        parent, _, own = name.rpartition(".")
        delattr(sys.modules[parent], own)
    del db.connections[db.DEFAULT_DB_ALIAS]  # a model read its maximum table name length
    kept = vars(db.connections)
    del kept["settings"]
    kept["_settings"] = None


def _setup(set_prefix: bool = True) -> None:
    """Configure Django with the settings of this process; its applications are loaded already."""
    _first_setup(set_prefix)
    jwt = importlib.import_module("rest_framework_simplejwt.settings")
    jwt.DEFAULTS["SIGNING_KEY"] = conf.settings.SECRET_KEY
    document = importlib.import_module("drf_spectacular.settings").spectacular_settings
    document.reload()
    document._user_settings = conf.settings.SPECTACULAR_SETTINGS
    gc.enable()  # the settings have disabled it until the applications are loaded
