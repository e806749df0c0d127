"""Programs that keep files: WebDAV, Solid, file managers, package indexes and Mercurial, with their real clients."""

import json
import zipfile
from pathlib import Path

from tests.corpora.programs.explore import explore
from tests.corpora.programs.session import PASSWORD, USER, Session, segment

_WEBDAV = """
import json, os, sys
from webdav3.client import Client
asked = json.load(sys.stdin)
client = Client({"webdav_hostname": asked["url"], "webdav_login": asked["user"], "webdav_password": asked["password"]})
def tried(call, *args):
    try:
        return call(*args)
    except Exception as error:  # what a server refuses was sent all the same, and that is recorded
        print(type(error).__name__, error)
for folder in asked["folders"]:
    tried(client.mkdir, folder)
for number, (name, text) in enumerate(asked["files"]):
    with open("upload.bin", "w") as file:
        file.write(text)
    remote = asked["folders"][number % len(asked["folders"])] + "/" + name
    tried(client.upload_sync, remote, "upload.bin")
    if number % 3 == 0:
        tried(client.info, remote)
        tried(client.copy, remote, remote + " copy")
    if number % 4 == 0:
        tried(client.set_property, remote, {"namespace": "http://cloud.example/ns", "name": "label", "value": asked["labels"][number % len(asked["labels"])]})
        tried(client.get_property, remote, {"namespace": "http://cloud.example/ns", "name": "label"})
    if number % 5 == 0:
        tried(client.move, remote, remote + ".old")
    if number % 6 == 0:
        tried(client.download_sync, remote, "download.bin")
for folder in asked["folders"]:
    tried(client.list, folder)
    tried(client.list, folder, True)
tried(client.free)
tried(client.clean, asked["folders"][0])
"""


def _texts(session: Session) -> list[tuple[str, str]]:
    """Return names with contents: documents, source files and sentences."""
    content = session.content
    makers = (content.markdown, lambda: content.code()[1], content.sentence, content.page)
    return [(name, makers[number % len(makers)]()) for number, name in enumerate(session.file_names())]


def _webdav(session: Session, path: str, password: str = PASSWORD) -> None:
    asked = {
        "url": session.at + path, "user": USER, "password": password, "files": _texts(session),
        "folders": ["Photos 2026 (summer)", "Michael's documents", "R&D"], "labels": [session.content.title() for _ in range(9)],
    }  # fmt: skip
    session.run(session.python("clients"), "-c", _WEBDAV, stdin=json.dumps(asked))


def wsgidav(session: Session) -> None:
    """Files by a client library; locks and the folder page by curl."""
    root = session.folder / "files"
    root.mkdir()
    config = session.folder / "wsgidav.json"
    user = {USER: {"password": PASSWORD}}
    config.write_text(json.dumps({"provider_mapping": {"/": str(root)}, "simple_dc": {"user_mapping": {"*": user}}}))
    command = session.python("wsgidav", "wsgidav")
    session.serve(lambda port: [command, "--host=127.0.0.1", f"--port={port}", f"--config={config}"])
    _webdav(session, "/")
    lock = (
        '<?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
        "<D:locktype><D:write/></D:locktype><D:owner><D:href>Alice O'Brien</D:href></D:owner></D:lockinfo>"
    )
    for name in session.file_names()[:12]:
        kind = "Content-Type: application/xml; charset=utf-8"
        session.curl("-X", "LOCK", "-H", kind, "-H", "Timeout: Second-600", "-d", lock, f"/R%26D/{segment(name)}")
        session.curl("-X", "PROPFIND", "-H", "Depth: 0", f"/R%26D/{segment(name)}")


def copyparty(session: Session) -> None:
    """Files by WebDAV; the web page: search, new documents, messages, uploads."""
    (session.folder / "files").mkdir()
    command = session.python("copyparty", "copyparty")
    session.serve(
        lambda port: [command, "-i", "127.0.0.1", "-p", str(port), "-a", f"{USER}:{PASSWORD}", "-v", "files::A," + USER,
                      "-e2dsa", "--daw", "--no-thumb", "-q"]
    )  # fmt: skip
    _webdav(session, "/")
    login = {"PW": PASSWORD}
    for name, text in _texts(session)[:30]:
        session.send("POST", "/", headers=login, files={"act": (None, "bput"), "f": (name, text.encode())})
        session.send(
            "POST", "/", headers=login, files={"act": (None, "mkdir"), "name": (None, session.content.title())}
        )
        session.send("POST", "/", headers=login, data={"msg": session.content.sentence()})
        session.send("POST", "/?srch", headers=login, json={"q": f"name like *{name.split('.')[0]}*", "n": 0})
    session.page.goto(f"{session.at}/?pw={PASSWORD}")
    explore(session, "/", requests=60, seconds=60)


def cloudcmd(session: Session) -> None:
    """Browse, read and write files by the REST interface and the web page."""
    root = session.folder / "files"
    root.mkdir()
    command = session.node("cloudcmd", "cloudcmd")
    options = ["--no-auth", "--no-open", "--no-contact", "--no-terminal", "--root", str(root)]
    session.serve(lambda port: [command, *options, "--port", str(port)])
    for name, text in _texts(session)[:45]:
        session.send("PUT", f"/api/v1/fs/{segment(name)}", data=text.encode())
        session.send("GET", f"/api/v1/fs/{segment(name)}?stat")
        session.send("PUT", "/api/v1/copy", json={"from": "/", "to": "/backup/", "names": [name]})
        session.send("PUT", "/api/v1/rename", json={"from": f"/{name}", "to": f"/new {name}"})
    explore(session, "/", requests=80, seconds=60)


def solid(session: Session) -> None:
    """Documents of Linked Data in a pod, read, written and patched."""
    command = session.node("@solid/community-server", "community-solid-server")
    session.serve(lambda port: [command, "-p", str(port), "-l", "warn", "-c", "@css:config/default.json"])
    content = session.content
    for number in range(30):
        title = json.dumps(content.title(), ensure_ascii=False)
        turtle = (
            "@prefix dct: <http://purl.org/dc/terms/>. @prefix foaf: <http://xmlns.com/foaf/0.1/>.\n"
            f'<#it> dct:title {title}; dct:created "2026-11-23T09:00:00Z"; foaf:maker <https://cloud.example/alice#me>.'
        )
        patch = (
            "@prefix solid: <http://www.w3.org/ns/solid/terms#>. @prefix dct: <http://purl.org/dc/terms/>.\n"
            f"_:rename a solid:InsertDeletePatch; solid:inserts {{ <#it> dct:description {title}. }}."
        )
        path = f"/notes/{segment(content.title())}-{number}.ttl"
        session.send("PUT", path, data=turtle.encode(), headers={"Content-Type": "text/turtle"})
        session.send("PATCH", path, data=patch.encode(), headers={"Content-Type": "text/n3"})
        session.send("GET", path, headers={"Accept": "application/ld+json"})
        update = f"INSERT DATA {{ <#it> <http://purl.org/dc/terms/subject> {title} }}"
        session.send("PATCH", path, data=update.encode(), headers={"Content-Type": "application/sparql-update"})
        headers = {"Slug": f"note-{number}", "Content-Type": "text/markdown"}
        session.send("POST", "/notes/", data=content.markdown().encode(), headers=headers)
    explore(session, "/", requests=60, seconds=40)


def pypiserver(session: Session) -> None:
    """Packages uploaded by twine and installed by pip."""
    packages = session.folder / "packages"
    packages.mkdir()
    command = session.python("pypiserver", "pypi-server")
    options = ["-i", "127.0.0.1", "-P", ".", "-a", ".", "--disable-fallback", str(packages)]
    session.serve(lambda port: [command, "run", "-p", str(port), *options])
    project = session.folder / "project"
    for number in range(30):
        readme, name = session.content.markdown(), f"notes-{number}"
        built = _distribution(project, name, session.content.sentence().replace("\n", " "), readme)
        login = ["-u", USER, "-p", PASSWORD]
        session.run(
            session.python("clients", "twine"), "upload", "--repository-url", session.at + "/", *login, str(built)
        )
        for spec in (name, f"{name}>=0.1,<2"):
            arguments = [
                "download",
                "-q",
                "--no-deps",
                "--no-build-isolation",
                "--no-cache-dir",
                "--index-url",
                f"{session.at}/simple/",
            ]
            session.run(session.python("pypiserver"), "-m", "pip", *arguments, "-d", str(session.folder), spec)
        if number < 12:
            session.run(session.python("pypiserver"), "-m", "pip", "search", "--index", f"{session.at}/", name)
    explore(session, "/", requests=40, seconds=30)


def _distribution(folder: Path, name: str, summary: str, readme: str) -> Path:
    """Write a wheel, which is an archive with a description."""
    folder.mkdir(exist_ok=True)
    module = name.replace("-", "_")
    path = folder / f"{module}-0.1-py3-none-any.whl"
    info = f"{module}-0.1.dist-info"
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\nSummary: {summary}\nDescription-Content-Type: text/markdown\n\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{module}.py", "value = 1\n")
        archive.writestr(f"{info}/METADATA", head + readme)
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def mercurial(session: Session) -> None:
    """Clone, pull and push by hg; the pages of the repository."""
    hg = session.python("mercurial", "hg")
    session.clients.add("hg (Mercurial)")
    user = "Alice O'Brien <alice@cloud.example>"
    session.run(hg, "init", "served")
    (session.folder / "served" / ".hg" / "hgrc").write_text("[web]\nallow_push = *\npush_ssl = no\n")
    session.serve(lambda port: [hg, "serve", "-R", "served", "-a", "127.0.0.1", "-p", str(port)])
    session.run(hg, "clone", session.at, "work")
    for number, (name, text) in enumerate(_texts(session)[:45]):
        (session.folder / "work" / name).write_text(text)
        session.run(hg, "-R", "work", "commit", "-A", "-u", user, "-m", session.content.comment())
        if number % 4 == 1:
            session.run(hg, "-R", "work", "bookmark", f"feature/{name}")
        session.run(hg, "-R", "work", "push", "-B", ".", "--new-branch", session.at)
        session.run(hg, "-R", "work", "incoming", session.at)
    session.run(hg, "clone", "--pull", session.at, "again")
    for title in (session.content.title() for _ in range(30)):
        session.page.goto(f"{session.at}/log?rev={segment(title)}")
    explore(session, "/", requests=160, seconds=90)
