"""The command line of a container: a root file system of its own, then the user, the rights and the process."""

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.deploy.compose.images import ContainerImage
from tests.deploy.compose.reader import Service

_ROOT = "/run/root"
_BASE = """
set -eu
umask 022
mount -t tmpfs -o mode=0755 root {root}
cd {root}
for each in bin sbin lib lib64; do
    if [ -L /$each ]; then cp -P /$each $each; elif [ -d /$each ]; then mkdir $each; mount -o bind,ro /$each $each; fi
done
mkdir -p proc dev/shm etc tmp run programs srv var/tmp
mount --rbind /proc proc
for each in null zero full random urandom; do touch dev/$each; mount --bind /dev/$each dev/$each; done
mount -t tmpfs -o mode=1777,size=64m shm dev/shm
ln -s /proc/self/fd dev/fd; ln -s /proc/self/fd/1 dev/stdout; ln -s /proc/self/fd/2 dev/stderr
printf 'root:x:0:0::/root:/bin/sh\\nuser:x:{uid}:{gid}::/:/bin/sh\\n' > etc/passwd
printf 'root:x:0:\\nuser:x:{gid}:\\n' > etc/group
printf '127.0.0.1 localhost\\n' > etc/hosts
printf 'nameserver 127.0.0.11\\noptions ndots:0\\n' > etc/resolv.conf
printf 'passwd: files\\ngroup: files\\nhosts: files dns\\n' > etc/nsswitch.conf
touch etc/ld.so.cache; mount -o bind,ro /etc/ld.so.cache etc/ld.so.cache
"""
_CLOSE = """
{freeze}
hostname {hostname}
pivot_root . .
umount -l .
cd {cwd}
exec {drop} env -i {environment} {command}
"""


def script_of(service: Service, image: ContainerImage, volumes: Path, texts: Path, *, is_root: bool) -> str:
    """Return the shell script that becomes the process of a service; it needs namespaces for mounts and host name."""
    uid, _, gid = service.user.partition(":")
    lines = [_BASE.format(root=_ROOT, uid=uid, gid=gid)]
    lines += [_bound(str(folder), folder) for folder in _of_this_machine()]
    lines += [f"ln -s {path} programs/{name}" for name, path in image.programs.items()]
    lines += [_bound(target, source) for target, source in image.folders.items()]
    for number, mount in enumerate(service.mounts):
        if mount.name:
            lines.append(_bound(mount.target, volumes / mount.name, is_read_only=mount.read_only))
        elif mount.content:
            text = texts / f"{service.name}-{number}"
            text.write_text(mount.content)
            text.chmod(0o644)
            lines.append(_bound(mount.target, text))
        elif mount.source is not None:
            lines.append(_bound(mount.target, mount.source, is_read_only=mount.read_only))
        else:
            inside = f".{mount.target}"
            lines.append(
                f"mkdir -p {inside}; mount -t tmpfs -o {_options(mount.options, is_root=is_root)} tmp {inside}"
            )
    entrypoint = image.entrypoint if service.entrypoint is None else service.entrypoint
    command = (image.command if service.entrypoint is None else []) if service.command is None else service.command
    closing = _CLOSE.format(
        freeze="mount -o remount,ro ." if service.read_only else "",
        hostname=service.hostname,
        cwd="/opt/gatewall" if "/opt/gatewall" in image.folders else "/",
        drop=" ".join(_drop(uid, gid, service.cap_add, is_root=is_root)),
        environment=shlex.join(f"{name}={value}" for name, value in environment_of(service, image).items()),
        command=shlex.join([*entrypoint, *command]),
    )
    return "\n".join([*lines, closing])


def environment_of(service: Service, image: ContainerImage) -> Mapping[str, str]:
    """Return the environment of a container: that of its image, and what the file adds."""
    path = "/programs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "HOSTNAME": service.hostname, "HOME": "/", **image.environment, **service.environment}


def _of_this_machine() -> list[Path]:
    """Return the folders of programs and libraries: of the system, of Python, and of the packages for tests."""
    found = [Path("/usr"), Path(sys.base_prefix).resolve(), Path(sys.prefix), Path(sys.prefix).resolve()]
    return [path for path in dict.fromkeys(found) if path == Path("/usr") or not path.is_relative_to("/usr")]


def _bound(target: str, source: Path, *, is_read_only: bool = True) -> str:
    inside = f".{target}"
    made = f"mkdir -p {inside}" if source.is_dir() else f"mkdir -p {Path(inside).parent.as_posix()}; touch {inside}"
    options = "bind,ro" if is_read_only else "bind"
    return f"{made}; mount -o {options} {shlex.quote(str(source))} {inside}"


def _options(text: str, *, is_root: bool) -> str:
    """Return mount options; without root, uid and gid are dropped, because only the service's user is mapped."""
    kept = [each for each in text.split(",") if is_root or not each.startswith(("uid=", "gid="))]
    return ",".join(kept) or "mode=0755"


def _drop(uid: str, gid: str, cap_add: list[str], *, is_root: bool) -> list[str]:
    if not is_root:
        return ["unshare", "--user", f"--map-user={uid}", f"--map-group={gid}", "--", "setpriv", "--no-new-privs", "--"]
    kept = "".join(f",+{name.lower()}" for name in cap_add)
    ids = [f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
    return ["setpriv", *ids, "--no-new-privs", "--inh-caps=-all", f"--bounding-set=-all{kept}", "--"]
