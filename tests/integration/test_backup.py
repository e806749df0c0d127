"""Backup and restore on both databases: under load, from one to the other, killed, and refused."""

import json
import shutil
import subprocess
import time
from contextlib import closing
from itertools import count

import psycopg
import pytest

from tests.integration.backup_scripts import FURNISH, LOG_ROWS, SAVE_A_VIEW, STATE, WRITE
from tests.postgres import KEEPS_COMMITS, server
from tests.support.backups import Content, Site
from tests.support.later_release import ADDED, LATER_SCHEMA, with_later_migrations
from tests.support.processes import BASE

ENGINES = ["sqlite", "postgresql"]
CHANGED_BY_A_RESTORE = {
    "accounts_user",  # the session version
    "audit_securityevent",
    "audit_usecount",
    "gatewall_policyhead",
    "gatewall_policyrevision",
    "gatewall_policysegment",
}


@pytest.fixture(scope="module")
def postgresql():
    with server(KEEPS_COMMITS) as running:
        yield running.url


@pytest.fixture(scope="module")
def database(postgresql):
    """Return a function that makes the environment of another database, by engine, optionally as a copy."""
    numbers = count(1)

    def make(engine, template="template1"):
        if engine == "sqlite":
            return {}
        name = f"site{next(numbers)}"
        with closing(psycopg.connect(postgresql, autocommit=True)) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return {"DATABASE_URL": f"{postgresql.rpartition('/')[0]}/{name}"}

    return make


@pytest.fixture(scope="module")
def originals(tmp_path_factory, database):
    """Return furnished installations by engine, each made once."""
    made = {}

    def original(engine):
        if engine not in made:
            site = Site.fresh(tmp_path_factory.mktemp("site") / "home", **database(engine))
            site.ok("migrate", "--verbosity=0")
            site.ok("seed_waf_rules")
            site.python(FURNISH)
            made[engine] = site
        return made[engine]

    return original


@pytest.fixture
def site(request, originals, database, tmp_path):
    """Return a furnished installation of its own; the indirect parameter is the engine."""
    original = originals(request.param)
    shutil.copytree(original.home, tmp_path / "home")
    url = original.changes.get("DATABASE_URL", "").rpartition("/")[2]
    return Site(tmp_path / "home", {**original.changes, **database(request.param, url)})


on_both = pytest.mark.parametrize("site", ["sqlite", pytest.param("postgresql", marks=pytest.mark.full)], indirect=True)
on_sqlite = pytest.mark.parametrize("site", ["sqlite"], indirect=True)


def new_site(tmp_path, **changes):
    """Return an installation without a database on this host, as on a new host."""
    return Site.fresh(tmp_path / "elsewhere", **changes)


@on_both
def test_a_backup_under_load_is_consistent(site, tmp_path, database):
    engine = "postgresql" if "DATABASE_URL" in site.changes else "sqlite"
    before = site.python(STATE)
    with subprocess.Popen(
        site.script(WRITE), cwd=BASE, env=site.environment, stdout=subprocess.PIPE, text=True
    ) as writer:
        for _ in range(5):
            writer.stdout.readline()
        site.ok("backup", tmp_path / "backup")
        for _ in range(5):  # it continues to write
            writer.stdout.readline()
        writer.kill()
    after = site.python(STATE)
    elsewhere = new_site(tmp_path, **database(engine))
    elsewhere.ok("restore", tmp_path / "backup", "--yes")
    restored = elsewhere.python(STATE)

    assert before["written"] + 5 <= restored["written"] < after["written"]
    assert restored["blocked"] == restored["written"]
    assert restored["revision"] == restored["revisions"] == before["revision"] + restored["written"] + 1
    assert restored["log"] in {LOG_ROWS + restored["written"], LOG_ROWS + restored["written"] - 1}
    assert restored["rules_without_row"] == 0
    assert restored["users"] == before["users"]
    assert restored["default_partition"] == 0


@pytest.mark.parametrize(
    ("site", "target"),
    [
        ("sqlite", "postgresql"),  # both engines are read and one is written; the other is written by most tests here
        pytest.param("sqlite", "sqlite", marks=pytest.mark.full),
        pytest.param("postgresql", "sqlite", marks=pytest.mark.full),
        pytest.param("postgresql", "postgresql", marks=pytest.mark.full),
    ],
    indirect=["site"],
)
def test_every_value_survives_backup_and_restore(site, target, tmp_path, database):
    site.ok("backup", tmp_path / "one")
    elsewhere = new_site(tmp_path, **database(target))
    elsewhere.ok("restore", tmp_path / "one", "--yes")
    elsewhere.ok("backup", tmp_path / "two")

    one, two = Content.read(tmp_path / "one"), Content.read(tmp_path / "two")
    assert one.manifest["tables"].keys() == two.manifest["tables"].keys()
    for table in one.manifest["tables"].keys() - CHANGED_BY_A_RESTORE:
        assert one.rows(table) == two.rows(table), table
    for table in CHANGED_BY_A_RESTORE - {"gatewall_policyhead"}:
        assert len(two.rows(table)) >= len(one.rows(table)), table
    for table, stored in one.manifest["tables"].items():
        assert two.manifest["tables"][table]["sequence"] >= stored["sequence"]
    opened = "from accounts.models import TotpDevice\nfrom accounts.sign_in.totp import sealing_context\n"
    opened += "from django.conf import settings\nfrom gatewall.credentials.sealing import Sealer\n"
    opened += "device = TotpDevice.objects.get()\nsealer = Sealer(settings.GATEWALL_DATA_KEYS)\n"
    opened += "out = sealer.open(device.sealed_secret, context=sealing_context(device.user_id)).decode()"
    assert elsewhere.python(opened) == "seed of bob"


@on_sqlite
def test_a_backup_without_log_and_secrets_has_neither(site, tmp_path):
    said = site.ok("backup", tmp_path / "backup", "--without-log", "--without-secrets")

    content = Content.read(tmp_path / "backup")
    assert content.rows("audit_accesslog") == content.rows("audit_accesslogrule") == []
    assert "data-keys" not in content.members
    assert "keys" not in said
    elsewhere = new_site(tmp_path)
    assert "secrets of second factors and webhooks that no key can decrypt: 1" in elsewhere.ok(
        "restore", tmp_path / "backup", "--yes"
    )


@on_sqlite
def test_the_file_is_private_and_replaced_only_if_asked_to(site, tmp_path):
    path = tmp_path / "backup"
    site.ok("backup", path, "--without-log")
    before = path.stat()  # two backups within a second are identical

    assert before.st_mode & 0o777 == 0o600
    assert "exists already" in site.refused("backup", path)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    site.ok("backup", path, "--force", "--without-log")
    assert path.stat().st_ino != before.st_ino
    assert sorted(each.name for each in tmp_path.iterdir()) == ["backup", "home"]


def limited_files():
    """Let this process write files of at most 64 KiB, as on a disk that is nearly full."""
    import resource  # noqa: PLC0415 - in the child

    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))


@on_sqlite
@pytest.mark.parametrize("place", ["nowhere/backup", "full/backup", "/proc/backup"])
def test_a_backup_that_cannot_be_written_leaves_nothing(site, tmp_path, place):
    (tmp_path / "full").mkdir()

    how = {"preexec_fn": limited_files} if place.startswith("full") else {}
    line = site.refused("backup", tmp_path / place, code=2, **how)

    assert "cannot be written" in line
    assert list((tmp_path / "full").iterdir()) == []


@on_sqlite
def test_a_restore_without_room_changes_nothing(site, tmp_path):
    site.ok("backup", tmp_path / "backup")
    before = site.python(STATE)

    line = site.refused("restore", tmp_path / "backup", "--yes", code=2, preexec_fn=limited_files)

    assert "disk" in line, line
    assert site.python(STATE) == before


@on_both
def test_a_backup_that_does_not_fit_is_refused(site, tmp_path):
    site.ok("backup", tmp_path / "backup", "--without-log")
    content, before = Content.read(tmp_path / "backup"), site.python(STATE)

    for expected, manifest in manifests_that_do_not_fit(content.manifest):
        content.write(tmp_path / "changed", manifest=manifest)
        assert expected in site.refused("restore", tmp_path / "changed", "--yes")

    assert site.python(STATE) == before


def manifests_that_do_not_fit(manifest):
    """Yield the words of a refusal, and what differs from a manifest that fits."""
    yield "format 2", {"format": 2}
    yield "later release", {"migrations": [*manifest["migrations"], ["accounts", "9999_later"]]}
    more, other = (json.loads(json.dumps(manifest["tables"])) for _ in range(2))
    more["policies_blocklistentry"]["rows"] += 1
    yield "number of rows", {"tables": more}
    other["policies_blocklistentry"]["columns"][0] += "_"
    yield "other columns", {"tables": other}


@on_both
def test_a_backup_of_an_earlier_release_is_migrated(site, tmp_path):
    site.python(SAVE_A_VIEW)
    site.ok("backup", tmp_path / "backup")

    restore = f"call_command('restore', {str(tmp_path / 'backup')!r}, '--yes', stdout=said)\n"
    said, later = site.python(with_later_migrations(tmp_path, restore + LATER_SCHEMA))

    assert f"applied {ADDED} migrations" in said
    assert later == {"column": ["new"], "index": True, "table": 0}
    assert site.python(STATE)["log"] == LOG_ROWS


@pytest.mark.parametrize(
    ("site", "parts"),
    [
        ("sqlite", [0.7]),
        pytest.param("sqlite", [0.4, 0.6, 0.8], marks=pytest.mark.full),
        pytest.param("postgresql", [0.4, 0.6, 0.8], marks=pytest.mark.full),
    ],
    indirect=["site"],
)
def test_a_killed_restore_leaves_the_old_database_or_the_new_one(site, parts, tmp_path):
    old, command = site.python(STATE), ["restore", tmp_path / "backup", "--yes"]
    site.ok("backup", tmp_path / "backup")
    site.python("from policies.services import block_network\nblock_network(actor='later', network='203.0.113.77')")
    began = time.monotonic()
    site.ok(*command)
    took = time.monotonic() - began
    new = site.python(STATE)
    assert (new["revision"], new["log"]) == (old["revision"] + 1, old["log"])
    add = "from policies.services import block_network as block\n"
    for part in parts:
        later = site.python(f"{add}block(actor='later', network='192.0.2.{int(part * 100)}')\n{STATE}")
        command_line = ["manage.py", *map(str, command)]
        with subprocess.Popen(
            [site.script("")[0], *command_line], cwd=BASE, env=site.environment, stdout=subprocess.DEVNULL
        ) as restore:
            time.sleep(took * part)
            restore.kill()
        state = site.python(STATE)
        assert state in (later, new), part

    site.ok(*command)
    assert site.python(STATE) == new
