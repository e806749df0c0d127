"""What a site's parser sees of a body: Django here; PHP, Express (qs, busboy) and Jackson as processes."""

import base64
import io
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import django
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.test import RequestFactory
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from gatewall.install.ports import free_port
from tests.corpora.evasions.table import Evasion

HERE = Path(__file__).parent


class Seen(dict[str, bool]):
    """Whether the site sees the payload, by the name of the evasion; ``versions`` of the parsers."""

    def __init__(self) -> None:
        super().__init__()
        self.versions: dict[str, str] = {}

    def note(self, row: Evasion, tree: Any) -> None:
        self[row.name] = any(row.payload in text for text in texts(tree))


def texts(tree: Any) -> Iterator[str]:
    """Yield the names and texts in what a parser returned."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for name, value in tree.items():
            yield name
            yield from texts(value)
    elif isinstance(tree, list | tuple):
        for each in tree:
            yield from texts(each)


def django_sees(rows: Iterable[Evasion]) -> Seen:
    found = Seen()
    found.versions["Django"] = django.__version__
    for row in rows:
        request = RequestFactory().generic("POST", "/", row.body, content_type=row.kind)
        found.note(row, _parsed_by_django(request))
    return found


def rest_sees(rows: Iterable[Evasion]) -> Seen:
    """Return what Django REST framework sees: JSON in the charset of its media type, any that Python knows."""
    found = Seen()
    for row in rows:
        request = RequestFactory().generic("POST", "/", row.body, content_type=row.kind)
        try:
            tree = JSONParser().parse(io.BytesIO(row.body), row.kind, {"encoding": request.encoding or "utf-8"})
        except (ParseError, LookupError):
            tree = None
        found.note(row, tree)
    return found


def expat_sees(rows: Iterable[Evasion]) -> Seen:
    found = Seen()
    for row in rows:
        try:
            elements = list(ET.fromstring(row.body).iter())  # noqa: S314 - our own table
        except (ET.ParseError, ValueError, LookupError):
            elements = []
        found.note(row, [("".join(each.itertext()), each.tail or "", dict(each.attrib)) for each in elements])
    return found


def seen_here(rows: Iterable[Evasion]) -> Seen:
    """Return what the parsers that run in this process see of their rows."""
    found, by_site = Seen(), defaultdict(list)
    for row in rows:
        by_site[row.site].append(row)
    for site, sees in (("Django", django_sees), ("Django REST", rest_sees), ("expat", expat_sees)):
        found |= sees(by_site[site])
    return found


def _parsed_by_django(request: HttpRequest) -> Any:
    if request.content_type not in {"application/x-www-form-urlencoded", "multipart/form-data"}:
        try:
            return json.loads(request.body)
        except ValueError:
            return None
    try:
        return list(request.POST.lists())
    except (
        BadRequest,
        LookupError,
        MultiPartParserError,
        SuspiciousOperation,
        ValueError,
    ):  # the site answers 400 or 500
        return None


def php_sees(rows: Iterable[Evasion], php: list[str]) -> Seen:
    """Return what PHP sees: the built-in server of the command ``php`` parses bodies, its libxml2 reads XML."""
    found, port = Seen(), free_port()
    server = subprocess.Popen([*php, "-S", f"127.0.0.1:{port}", str(HERE / "judge.php")], stderr=subprocess.DEVNULL)
    try:
        for row in rows:
            answer = _asked(f"http://127.0.0.1:{port}/{'xml' if row.site == 'libxml2' else ''}", row)
            found.versions |= {"PHP": answer["version"], "libxml2": answer["libxml"]}
            found.note(row, answer["post"])
    finally:
        server.terminate()
        server.wait()
    return found


def _asked(url: str, row: Evasion) -> Any:
    request = urllib.request.Request(url, row.body, {"Content-Type": row.kind or "x"})  # noqa: S310 - http
    for _ in range(50):
        try:
            with urllib.request.urlopen(request) as answer:  # noqa: S310
                return json.loads(answer.read())
        except urllib.error.URLError:
            time.sleep(0.1)  # until PHP listens
    raise RuntimeError("php does not listen")


def express_sees(rows: list[Evasion], modules: Path) -> Seen:
    """Return what Express sees; ``modules`` is the folder node_modules with qs and busboy."""
    sent = [json.dumps(_asked_of_node(row)) for row in rows]
    return _answers(rows, sent, ["node", str(HERE / "judge.js")], NODE_PATH=str(modules))


def _asked_of_node(row: Evasion) -> dict[str, str]:
    body = base64.b64encode(row.body).decode()
    return {"site": row.site, "kind": row.kind, "coding": row.coding, "body": body}


def xerces_sees(rows: list[Evasion]) -> Seen:
    """Return what Xerces sees, the XML parser of the JDK."""
    command = ["java", str(HERE / "JudgeXml.java")]
    sent = "\n".join([base64.b64encode(row.body).decode() for row in rows]) + "\n"
    done = subprocess.run(command, input=sent, stdout=subprocess.PIPE, text=True, check=True)
    found = Seen()
    for row, line in zip(rows, done.stdout.rstrip("\n").split("\n"), strict=True):
        found.note(row, base64.b64decode(line).decode())
    return found


def jackson_sees(rows: list[Evasion], classpath: str) -> Seen:
    sent = [base64.b64encode(row.body).decode() for row in rows]
    return _answers(rows, sent, ["java", "-cp", classpath, str(HERE / "Judge.java")])


def _answers(rows: list[Evasion], sent: list[str], command: list[str], **env: str) -> Seen:
    done = subprocess.run(
        command, input="\n".join(sent) + "\n", env={**os.environ, **env}, stdout=subprocess.PIPE, text=True, check=True
    )
    found = Seen()
    for row, line in zip(rows, done.stdout.rstrip("\n").split("\n"), strict=True):
        answer = json.loads(line)
        found.versions |= answer.get("versions") or {"Jackson": answer["version"]}
        found.note(row, answer["seen"])
    return found
