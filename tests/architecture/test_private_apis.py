"""Uses of another package's internals are in one adapter, and were reviewed in the installed version.

After an upgrade, review the package's changes to the names in ``INTERNALS``, then enter the new version.
"""

import ast
import http.client
import importlib
import inspect
import pkgutil
import re
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("gatewall", "accounts", "policies", "audit", "licensing", "webhooks")


class Internals(NamedTuple):
    """The private names that our modules use: package, reviewed version, and the names by their module."""

    package: str
    version: str
    adapters: tuple[str, ...]
    names: dict[str, str]
    is_closed: bool = True
    """True if no other module of ours imports the package."""


INTERNALS = (
    Internals(
        "gunicorn",
        "27.0.1",
        ("gatewall.server.master", "gatewall.server.answering", "gatewall.server.lone"),
        {
            "gunicorn.app.wsgiapp": "WSGIApplication",
            "gunicorn.arbiter": "Arbiter WORKERS LISTENERS worker_age num_workers systemd handle_hup "
            "handle_usr2 manage_workers reap_workers murder_workers spawn_worker kill_worker stop",
            "gunicorn.errors": "HaltServer",
            "gunicorn.sock": "close_sockets create_sockets",
            "gunicorn.workers.base": "Worker tmp ppid age sockets cfg wsgi init_process init_signals notify run",
            "gunicorn.workers.workertmp": "WorkerTmp _tmp close fileno",
        },
    ),
    Internals(
        "psycopg",
        "3.3.9",
        ("gatewall.database.postgresql.connection",),
        {
            "psycopg.connection": "Connection wait pgconn",
            "psycopg.conninfo": "conninfo_attempts",
            "psycopg.errors": "ConnectionTimeout",
            "psycopg.waiting": "Ready Wait",
        },
    ),
    Internals(
        "redis",
        "8.1.0",
        ("gatewall.database.shared_cache",),
        {"redis.connection": "_connect on_connect_check_health read_response disconnect connection_class from_url"},
    ),
    Internals(
        "drf-spectacular",
        "0.30.0",
        ("gatewall.api.schema", "gatewall.api.documentation"),
        {
            "drf_spectacular.openapi": "AutoSchema _tokenize_path _is_list_view _get_parameters _get_request_body "
            "_get_response_bodies _map_serializer _map_serializer_field resolve_serializer path_regex registry",
            "drf_spectacular.plumbing": "ResolvedComponent get_doc",
        },
    ),
    Internals(
        "djangorestframework",
        "3.18.3",
        ("gatewall.api.caller",),
        {"rest_framework.request": "_request"},
        is_closed=False,
    ),
    Internals(
        "Django",
        "5.2.19",
        ("gatewall.api.admin_forms",),
        {"django.forms.models": "_post_clean"},
        is_closed=False,
    ),
    Internals(
        "Django",
        "5.2.19",
        ("accounts.session_store",),
        {
            "django.contrib.sessions.backends.base": "_session_key",
            "django.contrib.sessions.backends.db": "_get_session_from_db create_model_instance",
        },
        is_closed=False,
    ),
    Internals(
        "Django",
        "5.2.19",
        ("gatewall.database.prepared",),
        {
            "django.db.models.query": "ModelIterable get_related_populators",
            "django.db.models.sql.compiler": "as_sql select klass_info get_converters apply_converters default_cols",
        },
        is_closed=False,
    ),
    Internals(
        "Django",
        "5.2.19",
        ("accounts.models",),
        {"django.contrib.auth.base_user": "_get_session_auth_hash"},
        is_closed=False,
    ),
    Internals(
        "Django",
        "5.2.19",
        ("gatewall.database.local_cache", "gatewall.database.shared_cache"),
        {
            "django.core.cache.backends.locmem": "_cache _lock _has_expired _set _delete",
            "django.core.cache.backends.redis": "_options",
        },
        is_closed=False,
    ),
)
OWN = {"_rows", "_shards"}
PUBLIC = {
    "_abc_impl",
    "_is_protocol",
    "_meta",
    "_default_manager",
    "_state",
    "_declared_fields",
    "_asdict",
    "_replace",
    "_fields",
}
"""Names that are documented as public despite the underscore, or made by a metaclass."""


def modules():
    """Yield the names of our modules, except migrations and modules whose import starts a plane."""
    for root in OURS:
        for found in pkgutil.walk_packages([str(ROOT / root)], f"{root}."):
            if ".migrations" not in found.name and found.name not in {"gatewall.wsgi", "gatewall.data_plane"}:
                yield found.name


def is_private(name):
    return re.fullmatch(r"_[a-z]\w*[a-z0-9]", name) is not None and name not in PUBLIC


def inherited(kind):
    """Yield the private names that our class overrides or uses and inherits, as (package, name)."""
    foreign = [base for base in kind.__mro__ if base.__module__.partition(".")[0] not in OURS]
    tree = class_trees(kind.__module__)[kind.__name__]
    named = set(vars(kind)) | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for name in filter(is_private, named):
        yield from ((base.__module__.partition(".")[0], name) for base in foreign if name in vars(base))


@cache
def class_trees(module):
    """Return the classes of a module by name; cached, because ``inspect.getsource`` parses it for each class."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def classes(module):
    loaded = importlib.import_module(module)
    for each in vars(loaded).values():
        if inspect.isclass(each) and each.__module__ == module:
            yield each


@pytest.mark.parametrize("each", INTERNALS, ids=lambda each: f"{each.package}-{each.adapters[0]}")
def test_internals_were_reviewed_in_the_installed_version(each):
    assert version(each.package) == each.version


@pytest.mark.parametrize("each", INTERNALS, ids=lambda each: f"{each.package}-{each.adapters[0]}")
def test_the_private_names_that_we_use_exist(each):
    for module, names in each.names.items():
        source = inspect.getsource(importlib.import_module(module))
        assert [name for name in names.split() if not re.search(rf"\b{name}\b", source)] == [], module


@pytest.mark.parametrize("each", [each for each in INTERNALS if each.is_closed], ids=lambda each: each.package)
def test_a_package_whose_internals_we_use_is_imported_only_by_its_adapters(each):
    package = each.package.replace("-", "_")
    imports = re.compile(rf"^\s*(?:from|import) {package}\b", re.MULTILINE)
    found = {
        name
        for name in modules()
        if (path := ROOT / (name.replace(".", "/") + ".py")).exists() and imports.search(path.read_text())
    }

    assert found == set(each.adapters)


def test_only_listed_inherited_private_names_are_overridden_or_used():
    known = {(adapter, name) for each in INTERNALS for adapter in each.adapters for name in sorted(_words(each))}
    found = {
        (module, name)
        for module in modules()
        for kind in classes(module)
        for package, name in inherited(kind)
        if package not in sys.stdlib_module_names
    }

    assert found - known == set()


def test_the_scan_detects_an_override():
    from gatewall.api.admin_forms import ServiceForm  # noqa: PLC0415

    assert ("django", "_post_clean") in set(inherited(ServiceForm))


def test_private_names_of_other_objects_are_all_in_the_table():
    """ruff (SLF001) finds each use; only our own, documented and an adapter's names may have a ``noqa``."""
    known = {name for each in INTERNALS for name in _words(each)} | PUBLIC | OWN | {"_create_connection"}
    lines = [
        line
        for root in OURS
        for path in (ROOT / root).rglob("*.py")
        for line in path.read_text().splitlines()
        if "noqa: SLF001" in line
    ]

    assert lines
    assert [line for line in lines if not {name for name in known if f".{name}" in line}] == []


def test_pythons_connections_are_made_by_the_function_that_downloads_replace():
    assert callable(http.client.HTTPConnection("gatewall.example")._create_connection)


def _words(each):
    return {name for names in each.names.values() for name in names.split()}
