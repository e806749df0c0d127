"""Run a command as in a container: ``jail.py STATE PLACE VENV MEMORY COMMAND...``.

The whole file system is read-only except the folder STATE; VENV is also mounted at PLACE; no privilege can be gained.
If MEMORY is `/dev/shm`, a tmpfs is mounted there, as container engines do; if it is `-`, `/dev/shm` is read-only too.
The command does not run as root: started by root, it runs as the image's user; started by another user, it runs as
that user, in a user namespace that may mount. It replaces this process. Exit code 70 if the kernel forbids this.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

USER = 10_001
_NEW_MOUNTS, _NEW_USERS = 0x20000, 0x10000000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _READ_ONLY = 442, -100, 0x8000, 1
_NO_NEW_PRIVILEGES = 38
_PRIVATE_FOLDER = "/tmp"  # noqa: S108 - a mount that no other process has
_libc = ctypes.CDLL(None, use_errno=True)


def enter(state: str, place: str, venv: str, memory: str) -> None:
    """Enter a mount namespace where only the state folder is writable."""
    os.umask(0o022)
    user, group, is_root = os.getuid(), os.getgid(), os.geteuid() == 0
    _done(_libc.unshare(_NEW_MOUNTS | (0 if is_root else _NEW_USERS)))
    if not is_root:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - one write, no newline
                file.write(text)
    _mount(None, "/", _PRIVATE | _RECURSIVE)
    _mount(venv, place, _BIND | _RECURSIVE)
    if is_root:
        open_the_way_to(sys.base_prefix, spare=state)
    _mount(state, state, _BIND)
    if memory != "-":
        _done(_libc.mount(b"tmpfs", memory.encode(), b"tmpfs", 0, b"mode=1777"))
    _leave_writable(*({state} if memory == "-" else {state, memory}))
    become(*((USER, USER) if is_root else (None, None)))


def restrict(user: int, group: int, writable: Sequence[str]) -> None:
    """Enter, as root, a mount namespace where the user may write only to these folders and to /dev.

    `/tmp` among them is an empty folder of its own.
    """
    _done(_libc.unshare(_NEW_MOUNTS))
    _mount(None, "/", _PRIVATE | _RECURSIVE)
    for folder in (*writable, "/dev"):
        if folder == _PRIVATE_FOLDER:
            _done(_libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"mode=1777"))
        else:
            _mount(folder, folder, _BIND | _RECURSIVE)
    _leave_writable(*writable, "/dev")
    become(user, group)


def become(user: int | None, group: int | None) -> None:
    """Become this user permanently; without one, only give up all ways to gain privileges."""
    if user is not None and group is not None:
        os.setgroups([])
        os.setresgid(group, group, group)
        os.setresuid(user, user, user)
    _done(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def _leave_writable(*folders: str) -> None:
    """Make every mount read-only but these."""
    _set_attributes("/", _AT_RECURSIVE, _READ_ONLY, 0)
    for folder in folders:
        _set_attributes(folder, 0, 0, _READ_ONLY)


def open_the_way_to(python: str, *, spare: str) -> None:
    """Make the interpreter accessible to every user, even if it is below a folder for root alone."""
    closed = next((folder for folder in reversed(Path(python).parents) if not folder.stat().st_mode & 0o001), None)
    if closed is not None:
        _mount(python, spare, _BIND | _RECURSIVE)
        _done(_libc.mount(b"tmpfs", bytes(closed), b"tmpfs", 0, b"mode=0755"))
        Path(python).mkdir(parents=True, mode=0o755)
        _mount(spare, python, _BIND | _RECURSIVE)
        _done(_libc.umount2(spare.encode(), 0))


def _mount(source: str | None, target: str, flags: int) -> None:
    _done(_libc.mount(source and source.encode(), target.encode(), None, flags, None))


def _set_attributes(path: str, flags: int, on: int, off: int) -> None:
    attributes = struct.pack("QQQQ", on, off, 0, 0)
    _done(_libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, attributes, len(attributes)))


def _done(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    try:
        enter(*sys.argv[1:5])
    except OSError as error:
        sys.stderr.write(f"no jail: {error}\n")
        sys.exit(70)
    os.execv("/usr/bin/env", ["env", *sys.argv[5:]])  # noqa: S606 - that is what it is for
