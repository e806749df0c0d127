"""git over HTTP and WebDAV: real clients on files and branches whose names are as people choose them."""

import gzip
import http.client
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from gatewall.install.ports import free_port
from tests.corpora.record import texts
from tests.corpora.record.tap import PATIENCE, Reply, Tape
from tests.support.processes import running, wait_until

_QUIET = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Alice",
    "GIT_AUTHOR_EMAIL": "a@x.example",
    "GIT_COMMITTER_NAME": "Alice",
    "GIT_COMMITTER_EMAIL": "a@x.example",
    "LC_ALL": "C.UTF-8",
}
REPOSITORIES = (
    "site",
    "alice/notes",
    "acme/O'Brien's fork",
    "team-1/select_union",
    "c++/libfoo",
    "tools/drop-table",
    "bob/.dotfiles",
    "acme/exec",
    "acme/script.js",
    "a b/c d",
    "日本/リポジトリ",
    "acme/(old) site",
    "acme/x;y",
    "acme/cat",
    "acme/etc",
    "acme/web&app",
    "acme/R&D, 2024",
    "acme/50%",
    "acme/admin",
    "acme/docker-compose",
    "acme/wp-config-tools",
)
BRANCHES = (
    "main",
    "feature/select-from-list",
    "fix/O'Brien",
    "release-1.2.x",
    "bug/#1234",
    "wip/drop+insert",
    "user@host",
    "renovate/npm-lodash-vulnerability",
    "dependabot/pip/django-5.2",
    "ünï/cödé",
    "a;b",
    "x&y",
    "(try)",
    "50%",
    "$HOME",
    "it's",
    "`tick`",
    "script>alert",
    "union!",
    "=eq",
    "{a,b}",
    "v1.0|v2.0",
)
FILES = (
    "O'Brien's notes.md",
    "budget (final) v2.xlsx",
    "R&D; plans.txt",
    "100% done.txt",
    "select * from.sql",
    "drop table.txt",
    "union select.pdf",
    "insert into here.doc",
    "50% off!.png",
    "#1 hit.mp3",
    "a+b=c.txt",
    "C++ notes.md",
    "übung.docx",
    "日本語 ファイル.txt",
    "résumé.pdf",
    "[draft] report.odt",
    "{template}.html",
    "${name}.txt",
    "~backup~.txt",
    "file.tar.gz",
    "script.js",
    "index.php",
    "shell.sh",
    "run.bat",
    "setup.exe",
    "photo 'summer'.jpg",
    'the "best" of.mp3',
    "a,b,c.csv",
    "who am i.txt",
    "cat.jpg",
    "ls.txt",
    "id.txt",
    "echo.wav",
    "x or y.txt",
    "1=1.txt",
    "..hidden.txt",
    "a..b.txt",
    "...txt",
    ".bash_aliases",
    ".gitignore",
    "etc.txt",
    "passwd.md",
    "config.yml",
    "wp-admin.html",
    "<tag>.txt",
    "a|b.txt",
    "what?.txt",
    "star*.txt",
    "colon:name.txt",
    "back`tick.txt",
    "caret^.txt",
    "dollar$.txt",
    "at@home.txt",
    "equals=.txt",
    "semi;colon.txt",
    "plus+.txt",
    "Screenshot 2024-01-01 at 10.00.00.png",
    "IMG_0001 (1).HEIC",
    "Rock 'n' Roll - Best Of.m3u",
    "Q&A.html",
    "mail.eml",
    "invoice #42.pdf",
    "order by date.csv",
    "group by name.csv",
    "sum(a).xls",
    "javascript notes.txt",
    "AC⚡DC.flac",
    "Müller; Meier.vcf",
    "-rf.txt",
    "--.txt",
    "Copy of Copy of notes.txt",
    "notes.txt.bak",
    "dump.sql",
    "backup.zip",
    "database.sqlite",
    "key.pem",
    "id_rsa.pub",
)
HARD = {"notes.txt.bak", "dump.sql", "backup.zip", "id_rsa.pub"}
"""Names that the set refuses on purpose, whoever asks: left out, and named in docs/waf.md."""


def git(tape: Tape, folder: Path) -> None:
    """Clone, fetch and push, smart and dumb, whole and shallow."""
    served = folder / "served"
    env = {**os.environ, **_QUIET, "HOME": str(folder)}

    def run(*arguments: str, cwd: Path = folder) -> None:
        if cwd.is_dir():
            subprocess.run(["git", *arguments], cwd=cwd, env=env, capture_output=True, timeout=PATIENCE, check=False)

    def backend(method: str, uri: str, body: bytes) -> Reply:
        return _cgi(served, method, uri, body)

    def static(method: str, uri: str, body: bytes) -> Reply:
        path = served / unquote(uri.partition("?")[0]).lstrip("/")
        return Reply(200, "text/plain", path.read_bytes()) if path.is_file() else Reply(404, "text/plain", b"")

    work = folder / "work"
    run("init", "-q", "-b", "main", str(work))
    for number, name in enumerate(FILES[:40]):
        (work / f"{number}.txt").write_text(name)
        run("add", ".", cwd=work)
        run("commit", "-q", "-m", name, cwd=work)
    for branch in BRANCHES[1:]:
        run("branch", branch, cwd=work)
        run("tag", f"t-{branch}", cwd=work)
    for number, name in enumerate(REPOSITORIES):
        run("init", "-q", "--bare", "-b", "main", str(served / f"{name}.git"))
        run("config", "receive.unpackLimit", "1" if number % 5 else "9999", cwd=served / f"{name}.git")
        run("config", "http.receivepack", "true", cwd=served / f"{name}.git")
    with tape.listening("git", answer=backend) as port:
        for number, name in enumerate(REPOSITORIES):
            url = f"http://127.0.0.1:{port}/{quote(name)}.git"
            run("push", "-q", "--all", url, cwd=work)
            run("push", "-q", "--tags", url, cwd=work)
            copy = folder / f"copy-{number}"
            run("clone", "-q", *(["--depth", "1"] if number % 2 else []), url, str(copy))
            run("-c", "protocol.version=1", "fetch", "-q", url, BRANCHES[number % len(BRANCHES)], cwd=copy)
            run("ls-remote", url, "refs/heads/fix/*")
            run("fetch", "-q", "--unshallow", cwd=copy)
    with tape.listening("git", answer=static) as port:
        for number, name in enumerate(REPOSITORIES):
            run("update-server-info", cwd=served / f"{name}.git")
            run("clone", "-q", f"http://127.0.0.1:{port}/{quote(name)}.git", str(folder / f"dumb-{number}"))


def _cgi(served: Path, method: str, uri: str, body: bytes) -> Reply:
    path, _, query = uri.partition("?")
    body = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    env = {
        **os.environ,
        **_QUIET,
        "GIT_PROJECT_ROOT": str(served),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": unquote(path),
        "REQUEST_METHOD": method,
        "QUERY_STRING": query,
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_USER": "alice",
        "CONTENT_TYPE": f"application/x-{path.rpartition('/')[2]}-request",
        "HOME": str(served),
    }
    done = subprocess.run(
        ["git", "http-backend"], env=env, input=body, capture_output=True, timeout=PATIENCE, check=False
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
    return Reply(int(headers.pop("Status", "200").split()[0]), "", content, headers)


def webdav(tape: Tape, folder: Path) -> None:
    """Drive wsgidav with webdav4, cadaver and curl."""
    root = folder / "dav"
    root.mkdir()
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "wsgidav.server.server_cli",
        "--host=127.0.0.1",
        f"--port={port}",
        f"--root={root}",
    ]
    log = folder / "dav.log"
    with running([*command, "--auth=anonymous", "--server=cheroot", "-q"], log=log):
        wait_until(lambda: _answers(port), what="wsgidav")
        with tape.listening("webdav", upstream=port) as tap:
            _webdav4(tap, folder)
            if shutil.which("cadaver"):
                _cadaver(tap, folder)


def _answers(port: int) -> bool:
    with suppress(OSError):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        connection.request("OPTIONS", "/")
        return connection.getresponse().status < 500
    return False


def _webdav4(tap: int, folder: Path) -> None:
    from httpx import InvalidURL  # noqa: PLC0415 - what only the recorder needs
    from webdav4.client import Client, ClientError  # noqa: PLC0415 - what only the recorder needs

    client = Client(f"http://127.0.0.1:{tap}", timeout=PATIENCE)
    source = folder / "source.txt"
    source.write_text("text")
    folders = ["Photos & Videos", "O'Brien", "R&D (2024)", "日本", "select union", "c++", "a;b", "Müller, Söhne"]
    for name in folders:
        client.mkdir(name)
    for number, name in enumerate(each for each in FILES if each not in HARD):
        inside = f"{folders[number % len(folders)]}/{name}"
        moved = f"{folders[(number + 3) % len(folders)]}/moved {name}"
        with suppress(ClientError, InvalidURL):
            client.upload_file(source, inside, overwrite=True)
            client.exists(inside)
            client.ls(inside)
            client.download_file(inside, folder / "down.txt")
            client.copy(inside, f"copy of {name}", overwrite=True)
            client.move(inside, moved, overwrite=True)
            client.remove(moved)
    for name in folders:
        client.ls(name)
        client.move(name, f"{name} (old)")


def _cadaver(tap: int, folder: Path) -> None:
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '\\"') + '"'

    lines = ["mkcol cadaver", "cd cadaver"]
    for name in [each for each in FILES if each not in HARD and "`" not in each]:
        text = quoted(name)
        lines += [f"put {folder / 'source.txt'} {text}", f"propget {text}", f"lock {text}", f"unlock {text}"]
        lines += [f"move {text} {quoted('new ' + name)}", f"delete {quoted('new ' + name)}"]
    lines += ["ls", *[f"mkcol {quoted(name)}" for name in texts.NAMES], "quit"]
    subprocess.run(
        ["cadaver", f"http://127.0.0.1:{tap}/"],
        input="\n".join(lines) + "\n",
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
        env={**os.environ, "HOME": str(folder)},
    )
