"""Installations on both databases, the commands backup and restore, and backups as Python values."""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gatewall.install.ports import free_port
from tests.support import command_server
from tests.support.processes import BASE, PATIENCE, environment, make_keys, manage
from tests.support.templates import folder_of

_SCRIPT = "import json, django; django.setup(); out = None\n{}\nprint(json.dumps(out, default=str))"


class Site(NamedTuple):
    """An installation: its state folder, and additional environment variables."""

    home: Path
    changes: Mapping[str, str]

    @classmethod
    def fresh(cls, home: Path, **changes: str) -> "Site":
        """Return a site with keys and unused ports and, on SQLite, without a database."""
        home.mkdir(mode=0o700)
        make_keys(home)
        return cls(home, {**_ports(), **changes})

    @classmethod
    def migrated(cls, home: Path) -> "Site":
        """Return a site on SQLite with keys and empty tables; all such sites have the same keys."""
        shutil.copytree(folder_of("tables", _with_tables), home)
        home.chmod(0o700)
        return cls(home, _ports())

    @property
    def environment(self) -> dict[str, str]:
        return {**environment(self.home, **self.changes), "DJANGO_SETTINGS_MODULE": "gatewall.settings"}

    def manage(self, *arguments: object, **how: Any) -> subprocess.CompletedProcess[str]:
        """Run a command; return the completed process. ``how`` is passed to ``subprocess.run``."""
        if not how:
            return command_server.run([*map(str, arguments)], env=self.environment, timeout=PATIENCE)
        return subprocess.run(
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=BASE,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
            **how,
        )

    def ok(self, *arguments: object) -> str:
        """Run a command that must succeed; return its output."""
        run = self.manage(*arguments)
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    def refused(self, *arguments: object, code: int = 1, **how: Any) -> str:
        """Run a command that must end with this exit code and one error line; return the line."""
        run = self.manage(*arguments, **how)
        assert run.returncode == code, run
        (line,) = run.stderr.splitlines()
        return line

    def script(self, code: str) -> list[str]:
        """Return the command line that runs this code with Django and prints ``out`` as JSON."""
        return [sys.executable, "-c", _SCRIPT.format(code)]

    def python(self, code: str) -> Any:
        """Run code with Django in this installation; return the value of ``out``."""
        run = command_server.run([], code=_SCRIPT.format(code), env=self.environment, timeout=PATIENCE)
        assert run.returncode == 0, run.stdout + run.stderr
        return json.loads(run.stdout.splitlines()[-1])


def _ports() -> dict[str, str]:
    return {"GATEWALL_PORT": str(free_port()), "GATEWALL_AUTH_PORT": str(free_port()), "GATEWALL_DEMO": "0"}


def _with_tables(home: Path) -> None:
    make_keys(home)
    manage(home, "migrate", "--verbosity=0")


class Content(NamedTuple):
    """A backup file as Python values."""

    manifest: dict[str, Any]
    members: dict[str, bytes]

    @classmethod
    def read(cls, path: Path) -> "Content":
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        return cls(json.loads(members.pop("manifest.json")), members)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table, in the order of their columns' values; JSON columns as values."""
        columns = self.manifest["tables"][table]["columns"]
        lines = self.members[f"tables/{table}.jsonl"].splitlines()
        found = [dict(zip(columns, map(_value, json.loads(line)), strict=True)) for line in lines]
        return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))

    def write(self, path: Path, *, manifest: Mapping[str, Any]) -> Path:
        """Write the backup with another manifest."""
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in self.members.items():
                archive.writestr(name, data)
            archive.writestr("manifest.json", json.dumps({**self.manifest, **manifest}))
        return path


def _value(value: Any) -> Any:
    """Return the value of a JSON column, which PostgreSQL and SQLite write differently."""
    try:
        return json.loads(value) if isinstance(value, str) and value[:1] in {"{", "["} else value
    except ValueError:
        return value
