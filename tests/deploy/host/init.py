"""First process of a host: ``init.py FOLDER``, in namespaces of its own. Prepares the mounts, then reaps processes.

Files written below the folders of `CHANGED` stay in the memory of the host and are lost when it ends.
"""

import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

if __package__ in {None, ""}:
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.deploy.jail import open_the_way_to

CHANGED = ("/etc", "/opt", "/usr/local/sbin", "/var/lib", "/var/log")
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def prepare(folder: Path) -> None:
    """Make the file system and the loopback interface of this host."""
    os.umask(0o022)
    memory = folder / "memory"
    memory.mkdir()
    _mount("-t", "tmpfs", "-o", "mode=0755", "host", str(memory))
    (memory / "spare").mkdir()
    for place in CHANGED:
        name = place.strip("/").replace("/", "-")
        upper, work = memory / name, memory / f"{name}.work"
        upper.mkdir()
        work.mkdir()
        _mount("-t", "overlay", "-o", f"lowerdir={place},upperdir={upper},workdir={work}", "host", place)
    _mount("-t", "tmpfs", "-o", "mode=0755", "host", "/run")
    open_the_way_to(sys.base_prefix, spare=str(memory / "spare"))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _GET_FLAGS, asked))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def _mount(*arguments: str) -> None:
    subprocess.run(["/usr/bin/env", "mount", *arguments], check=True)


def reap() -> None:
    """Reap orphans until the host ends, as the first process of a system does."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.sigwait({signal.SIGCHLD})


if __name__ == "__main__":
    prepare(Path(sys.argv[1]))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    reap()
