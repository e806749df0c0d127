"""A restore of an older backup keeps later revocations, or reports what it cannot know."""

import pytest

from tests.integration.restore_scripts import AFTER, BEFORE, PEOPLE, RESTORED
from tests.postgres import KEEPS_COMMITS, server
from tests.support.backups import Content, Site
from tests.support.processes import agent, control_plane, data_plane


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.full)])
def database(request):
    if request.param == "sqlite":
        yield {}
        return
    with server(KEEPS_COMMITS) as running:
        yield {"DATABASE_URL": running.url}


def a_site(home, **changes):
    if not changes:
        return Site.migrated(home)
    site = Site.fresh(home, **changes)
    site.ok("migrate", "--verbosity=0")
    return site


EXPLAIN = """
import io
from django.core.management import call_command
def is_accepted(text):
    Path(folder, "token").write_text(text)
    said = io.StringIO()
    asked = {"client_ip": "198.51.100.7", "host": "a.example", "uri": "/", "token_file": folder + "/token"}
    call_command("explain", **asked, stdout=said)
    return said.getvalue().startswith("200")
out = {name: is_accepted(text) for name, text in credentials.items()}
"""


@pytest.fixture
def credentials_at(tmp_path):
    """Return a function that returns which of the credentials a site accepts."""
    return lambda site, credentials: site.python(
        f"from pathlib import Path\nfolder, credentials = {str(tmp_path)!r}, {credentials!r}\n{EXPLAIN}"
    )


def test_revocations_after_the_backup_survive_its_restore(database, tmp_path, credentials_at):
    site = a_site(tmp_path / "home", **database)
    credentials = site.python(PEOPLE + BEFORE)
    assert all(credentials_at(site, credentials).values())
    site.ok("backup", tmp_path / "backup")
    later = site.python(PEOPLE + AFTER)

    said = site.ok("restore", tmp_path / "backup", "--yes")
    found = site.python(PEOPLE + RESTORED)

    assert found["active"] == ["admin", "demoted", "factor", "member", "narrowed", "password", "scoped", "stays"]
    assert found["admins"] == ["admin"]
    assert found["passwords"] == [False, True]
    assert (found["all_domains"], found["scope"]) == (False, ["a.example"])
    assert found["groups"] == {"narrow": [False, "a.example"], "wide": [False]}
    assert (found["step"], found["codes"]) == (77, ["unused"])
    assert found["passkeys"] == [["kept", 9]]
    assert (found["tokens"], found["licenses"]) == (["git kept"], ["license kept"])
    assert found["api_tokens"] == ["api kept"]
    assert found["app_tokens"] == ["app kept", "app narrowed"]
    assert found["links"] == [["link kept", 1]]
    assert found["deliveries"] == found["mails"] == [["failed", None]]
    assert found["providers"] == [["corp", True, False], ["closed", False, True]]
    assert found["identities"] == ["closed stays", "corp stays"]
    assert found["sessions"] == 0
    assert found["epochs"][1] == later["epoch"] != found["epochs"][0]
    assert found["next id"] > later["new id"]
    accepted = credentials_at(site, {**credentials, "new": later["new session"]})
    assert [name for name, is_accepted in accepted.items() if is_accepted] == ["git", "app", "app narrowed", "license"]
    for line in (
        "users stay disabled: they were disabled or deleted after the backup (2): deleted, disabled",
        "git tokens stay revoked (1): git revoked",
        "app tokens stay revoked (1): app revoked",
        "share links stay revoked (1): link revoked",
        "API tokens stay revoked (1): api revoked",
        "blocked networks are not blocked any more: they were added after the backup (1): 203.0.113.3",
        "blocked networks are blocked again: they were removed after the backup (1): 203.0.113.2",
        "allowlist entries let networks in again: they were removed after the backup (1): 192.0.2.1",
        "users are gone: they were made after the backup (1): new",
        "All sessions have ended",
    ):
        assert line in said, said
    assert found["actor"] == "restore"
    assert found["event"]["compared"] is True
    assert {"count": 1, "text": "git tokens stay revoked", "names": ["git revoked"]} in found["event"]["kept_out"]
    assert any(each["names"] == ["203.0.113.3"] for each in found["event"]["differs"])


def test_a_restore_into_an_empty_database_ends_sessions_and_lists_valid_credentials(database, tmp_path, credentials_at):
    site = a_site(tmp_path / "home", **database)
    credentials = site.python(PEOPLE + BEFORE)
    site.ok("backup", tmp_path / "backup")
    later = site.python(PEOPLE + AFTER)
    elsewhere = Site(tmp_path / "home", {**site.changes, "DATABASE_URL": f"sqlite:///{tmp_path / 'new.sqlite3'}"})

    for _ in range(2):  # the second restore is into a database that continues the backup
        said = elsewhere.ok("restore", tmp_path / "backup", "--yes")
        found = elsewhere.python(PEOPLE + RESTORED)
        assert found["sessions"] == 0
        assert found["next id"] > later["new id"]
        assert found["epochs"][1] == later["epoch"] or _ == 1
        accepted = credentials_at(elsewhere, {**credentials, "new": later["new session"]})
        assert not any(accepted[name] for name in ("session", "deleted", "new"))
        assert accepted["git revoked"]
        assert ("git tokens are valid (2): git kept, git revoked" in said) is not found["event"]["compared"]
    assert found["event"]["compared"]


@pytest.mark.full
def test_a_session_opened_between_two_restores_ends_at_the_second(tmp_path, credentials_at):
    site = a_site(tmp_path / "home")
    site.python(PEOPLE + BEFORE)
    site.ok("backup", tmp_path / "backup")
    tokens = {}
    for number in range(2):
        (tmp_path / "home" / "gatewall.sqlite3").unlink()  # so that later revocations are unknown
        site.ok("restore", tmp_path / "backup", "--yes")
        assert not any(credentials_at(site, tokens).values())
        made = "out = {'old': a_token(User.objects.get(username='stays')), 'new': a_token(a_user('next'))}"
        tokens |= {f"{name} {number}": text for name, text in site.python(PEOPLE + made).items()}


def test_a_restore_is_refused_while_gatewall_runs(tmp_path):
    site = a_site(tmp_path / "home")
    site.ok("publish_policy")
    site.ok("backup", tmp_path / "backup")
    processes = {
        agent: (),
        control_plane: (int(site.changes["GATEWALL_PORT"]),),
        data_plane: (int(site.changes["GATEWALL_AUTH_PORT"]),),
    }

    for process, port in processes.items():
        with process(site.home, *port):
            assert "stop Gatewall first" in site.refused("restore", tmp_path / "backup", "--yes"), process

    site.ok("restore", tmp_path / "backup", "--yes")


def test_a_backup_is_made_while_gatewall_runs(tmp_path):
    site = a_site(tmp_path / "home")
    with agent(site.home), control_plane(site.home, int(site.changes["GATEWALL_PORT"]), GATEWALL_WORKERS="1"):
        site.ok("backup", tmp_path / "backup")


def test_data_keys_are_added_and_never_replace_those_in_use(tmp_path):
    site = a_site(tmp_path / "home")
    site.ok("backup", tmp_path / "backup")
    elsewhere = Site.fresh(tmp_path / "elsewhere")
    ring = (elsewhere.home / "secrets" / "data-keys").read_text().strip()

    said = elsewhere.ok("restore", tmp_path / "backup", "--yes")

    theirs = Content.read(tmp_path / "backup").members["data-keys"].decode()
    assert (elsewhere.home / "secrets" / "data-keys").read_text().strip() == f"{ring},{theirs}"
    assert (elsewhere.home / "secrets" / "data-keys").stat().st_mode & 0o777 == 0o600
    assert "added the data keys" in said
    assert theirs.partition(":")[2][:20] not in said
    held = Site(elsewhere.home, {**elsewhere.changes, "GATEWALL_DATA_KEYS": ring})
    assert "is in the environment" in held.refused("restore", tmp_path / "backup", "--yes")


def test_without_a_terminal_and_yes_nothing_is_restored(tmp_path):
    site = a_site(tmp_path / "home")
    site.ok("backup", tmp_path / "backup")

    assert "say --yes" in site.refused("restore", tmp_path / "backup")
    assert "no complete backup" in site.refused("restore", __file__, "--yes")
    assert "No such file" in site.refused("restore", tmp_path / "nowhere", "--yes", code=2)
