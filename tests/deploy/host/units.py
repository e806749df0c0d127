"""Read the units that are installed in a host, and run their commands as systemd does: user, folders, rights."""

import os
import pwd
import shlex
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.deploy import jail

FOLDER = Path("/etc/systemd/system")
Settings = Mapping[str, list[str]]


def read(name: str) -> Settings:
    """Return the settings of a unit; of a setting that is repeated, every value."""
    found: dict[str, list[str]] = {}
    for line in (FOLDER / name).read_text().splitlines():
        setting, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(setting, []).append(value)
    return found


def one(unit: Settings, setting: str, default: str = "") -> str:
    """Return the last value of a setting."""
    return unit.get(setting, [default])[-1]


def in_order(names: Iterable[str]) -> list[str]:
    """Return these units with every one behind those that its After= names."""
    waiting, found = sorted(names), list[str]()
    while waiting:
        ready = [name for name in waiting if not set(" ".join(read(name).get("After", [])).split()) & set(waiting)]
        assert ready, f"units wait for one another: {waiting}"
        found.append(ready[0])
        waiting.remove(ready[0])
    return found


def spawn(unit: Settings, command: str) -> subprocess.Popen[bytes]:
    """Start a command line with the user, the environment and the folders that the unit's settings name."""
    return subprocess.Popen(
        shlex.split(command),
        cwd=one(unit, "WorkingDirectory", "/"),
        env=_environment(unit),
        umask=int(one(unit, "UMask", "0022"), 8),
        start_new_session=True,
        preexec_fn=lambda: _become(unit),  # noqa: PLW1509 - a process without threads
    )


def _environment(unit: Settings) -> dict[str, str]:
    user = pwd.getpwnam(one(unit, "User", "root"))
    found = {"PATH": "/usr/local/bin:/usr/bin:/bin", "USER": user.pw_name, "HOME": user.pw_dir}
    pairs: list[str] = []
    for file in unit.get("EnvironmentFile", []):
        pairs += [line for line in Path(file).read_text().splitlines() if line and not line.startswith("#")]
    pairs += [pair for value in unit.get("Environment", []) for pair in shlex.split(value)]
    return found | {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _become(unit: Settings) -> None:
    """Switch to the unit's user; only the folders that systemd makes for the unit stay writable."""
    user = pwd.getpwnam(one(unit, "User", "root"))
    writable = []
    for kind, parent in (("State", "/var/lib"), ("Runtime", "/run")):
        for name in one(unit, f"{kind}Directory").split():
            folder = Path(parent, name)
            folder.mkdir(exist_ok=True)
            if folder.stat().st_uid != user.pw_uid:
                _give(folder, user)
            folder.chmod(int(one(unit, f"{kind}DirectoryMode", "0755"), 8))
            writable.append(str(folder))
    if one(unit, "PrivateTmp") == "yes":
        writable.append("/tmp")  # noqa: S108 - a mount of the unit alone
    jail.restrict(user.pw_uid, user.pw_gid, writable)


def _give(folder: Path, user: pwd.struct_passwd) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
