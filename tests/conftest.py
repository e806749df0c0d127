"""Fixtures of the tests that need Django: the cast as rows, a gate of one process, a client of the API.

Nothing here imports Django before a fixture is asked for, so that ``tests/unit`` runs without it.
"""

import dataclasses
import gc
import math
import os
import sys
from contextlib import ExitStack
from importlib import import_module

import pytest
import time_machine

from tests.support.cast import MOMENT, OFFICE

# Tests start hundreds of processes: the bytecode of the product is kept, also where the environment says otherwise.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

EVERY_PROXY, BROWSER = "tests/proxies/every/", "tests/browser/"
SHARED = (EVERY_PROXY, BROWSER)
"""Folders that start servers or a browser once, for one process of xdist; they end with the folder."""
LONGEST = (*SHARED, "tests/faults/", "tests/integration/test_backup.py")
_started = ExitStack()
COLLECT_AFTER = 50_000
"""New objects between two runs of the garbage collector: with thousands of tests in memory one takes long."""


def pytest_configure(config):
    gc.set_threshold(COLLECT_AFTER, 20, 20)


def pytest_collection_finish(session):
    """Keep the garbage collector from looking through the collected tests again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config):
    gc.unfreeze()  # libraries in C++ report objects that are left at the end as leaks


def pytest_collection_modifyitems(config, items):
    """Begin with what takes longest; leave out on PostgreSQL what uses no database: it does the same on every one."""
    items.sort(key=lambda item: [part not in item.path.as_posix() for part in LONGEST])
    if not os.environ.get("DATABASE_URL", "").startswith("postgres"):
        return
    without = [item for item in items if not uses_database(item)]
    config.hook.pytest_deselected(items=without)
    items[:] = [item for item in items if uses_database(item)]


@pytest.hookimpl(optionalhook=True)  # of xdist
def pytest_xdist_make_scheduler(config, log):
    """With ``--dist loadfile``, run each folder of ``SHARED`` in one process."""
    if config.getvalue("dist") != "loadfile":
        return None
    scheduler = import_module("xdist.scheduler.loadfile").LoadFileScheduling(config, log)
    scheduler._split_scope = lambda nodeid: shared_folder(nodeid) or nodeid.split("::", 1)[0]
    return scheduler


def shared_folder(nodeid):
    """Return the folder of ``SHARED`` that the test is in, or an empty text."""
    return next((folder for folder in SHARED if nodeid.startswith(folder)), "")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Deactivate the language: a page leaves the visitor's active in its thread until the next request."""
    if translation := sys.modules.get("django.utils.translation"):
        translation.deactivate()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """End the servers of a folder after its last test: until the end of a run they would use the processors."""
    folder = shared_folder(item.nodeid)
    if folder and (nextitem is None or shared_folder(nextitem.nodeid) != folder):
        _started.close()


@pytest.fixture(scope="session")
def until_folder_ends():
    """Return the stack that is closed after the last test of a folder of ``SHARED``."""
    return _started


def uses_database(item):
    """True for a test whose rows are in the database of the settings."""
    return bool(item.get_closest_marker("django_db") or {"db", "transactional_db"} & set(item.fixturenames))


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_modify_db_settings):
    """Begin with a copy of a migrated database on SQLite, whose file ends with the process."""
    connection = import_module("django.db").connection
    if connection.vendor != "sqlite":
        return False
    import_module("tests.support.migrated").copy_to(connection.settings_dict["TEST"]["NAME"])
    return True


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup):
    """Empty the tables quickly after each test that commits; compile no built-in patterns after it."""
    import_module("tests.support.emptied").empty_quickly()
    import_module("tests.support.patterns").share_builtin()


@pytest.fixture(autouse=True)
def _own_installation(request):
    """Give every test with a database an installation of its own, which does nothing beside the test.

    One fixture for all of it: thousands of tests have no database, and each fixture of theirs costs time.
    """
    if not uses_database(request.node):
        return
    import_module("django.core.cache").cache.clear()  # rolled-back revisions use their numbers again
    settings, home = request.getfixturevalue("settings"), request.getfixturevalue("tmp_path")
    settings.GATEWALL_HOME = home
    settings.CONFIG = dataclasses.replace(settings.CONFIG, home=home)
    replace = request.getfixturevalue("monkeypatch").setattr
    # A gate has the built-in patterns, and compiles others here: a child process would outlive the test.
    pattern_cache, patterns = import_module("gatewall.snapshot.pattern_cache"), import_module("tests.support.patterns")
    replace(pattern_cache, "_compiled", patterns.compile_here)
    replace(pattern_cache.PatternCache, "_in_memory", patterns.in_memory)
    # The number of calls a minute is known: no test counts the statement that asks for it.
    replace(import_module("gatewall.api.rate"), "_remembered", (math.inf, 1200))
    # The clock of the database is that of the test, which may have stopped it, and costs no statement.
    timezone = import_module("django.utils.timezone")
    replace(import_module("gatewall.publication.nodes"), "database_now", timezone.now)


@pytest.fixture
def clock():
    """Stop the clock at the moment of the cast; return what moves it."""
    with time_machine.travel(MOMENT, tick=False) as traveler:
        yield traveler


@pytest.fixture
def wall(db):
    """Return ``tests.support.proxies``, which drives Gatewall in this process."""
    return import_module("tests.support.proxies")


@pytest.fixture
def alice(wall):
    """Return an admin."""
    return wall.a_user("alice", is_admin=True)


@pytest.fixture
def bob(wall):
    """Return a user who may enter every domain."""
    return wall.a_user("Bob")


@pytest.fixture
def office(db):
    """Return the domain office.example, registered without leaving the mode ``any``."""
    services = import_module("policies.services")
    return services.register_domain(actor="", name=OFFICE, access="authenticated", seed=True)


@pytest.fixture
def charlie(wall, office):
    """Return a user who may enter office.example alone."""
    return wall.a_user("charlie", all_domains=False, authorized_domains=[office])


@pytest.fixture
def new_gate(wall, settings, tmp_path):
    """Return a function that makes the gate of one more process, with the settings as they are then."""
    settings.GATEWALL_HOME = tmp_path
    endpoints = []

    def new():
        endpoints.append(wall.AuthEndpoint())
        return endpoints[-1]

    yield new
    for endpoint in endpoints:
        endpoint.gate.close()


@pytest.fixture
def auth(new_gate):
    """Return ``/auth`` of one process: call it with header names, ``_`` written for ``-``."""
    return new_gate()


@pytest.fixture
def anonymous(wall):
    """Return an API client that is not signed in."""
    return wall.Api()


@pytest.fixture
def admin(wall, alice):
    """Return an API client that is signed in as Alice."""
    return wall.Api(wall.a_token(alice))


@pytest.fixture
def user(wall, bob):
    """Return an API client that is signed in as Bob."""
    return wall.Api(wall.a_token(bob))
