"""Clients of programs that run behind a gateway: this project's own API, package managers, dashboards, sign-in."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import django
import requests

from gatewall.install.ports import free_port
from tests.corpora.record import machines_asked as asked
from tests.corpora.record import texts
from tests.corpora.record.tap import PATIENCE, Reply, Tape
from tests.support.processes import BASE, PASSWORD, control_plane, prepare


def own_api(tape: Tape, folder: Path) -> None:
    """Every list of the management API with every parameter, and the life of every resource."""
    django.setup()
    from tests.api.resources import KINDS  # noqa: PLC0415 - it needs Django

    prepare(folder)
    port = free_port()
    with control_plane(folder, port), tape.listening("own-api", upstream=port) as tap:
        client = requests.Session()
        client.headers["User-Agent"] = "gatewall-client/1.4 python-requests/2.32"
        at = f"http://127.0.0.1:{tap}/wall"
        signed_in = client.post(f"{at}/login", json={"username": "admin", "password": PASSWORD}, timeout=PATIENCE)
        client.headers["Service-Authorization"] = signed_in.json()["token"]
        for kind in KINDS:
            for number in range(3):
                made = client.post(f"{at}{kind.path}", json=kind.body(number + 1), timeout=PATIENCE)
                row = f"{at}{kind.path}/{made.json().get('id', number + 1)}"
                client.get(row, timeout=PATIENCE)
                client.put(row, json=kind.change or {}, timeout=PATIENCE)
                client.delete(row, timeout=PATIENCE)
        schema = json.loads((BASE / "docs" / "openapi.json").read_text())
        for path, parameters in _lists(schema):
            for name, value in parameters:
                client.get(f"{at}{path}", params={name: value}, timeout=PATIENCE)


def _lists(schema: dict[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for path, methods in schema["paths"].items():
        parameters = [each for each in methods.get("get", {}).get("parameters", []) if each["in"] == "query"]
        pairs = [(each["name"], value) for each in parameters for value in _values(each)]
        yield path.replace("{user_id}", "1").replace("{id}", "1"), pairs


def _values(parameter: dict[str, Any]) -> list[str]:
    schema = parameter["schema"]
    if "enum" in schema:
        return [str(each) for each in schema["enum"]]
    by_name = asked.VALUES.get(parameter["name"].removeprefix("exclude_"))
    if by_name is not None:
        return by_name
    if schema.get("format") == "date-time":
        return ["2024-03-01T00:00:00Z", "2024-03-31T23:59:59.999+02:00"]
    kinds = {"integer": ["1", "25"], "boolean": ["true", "false"]}
    return kinds.get(schema.get("type", ""), ["alice", "O'Brien", "a, b & c", "*.office.example"])


def packages(tape: Tape, folder: Path) -> None:
    """pip, npm, apt and curl, against indexes that have nothing."""
    with tape.listening("packages", answer=_index) as port:
        at = f"http://127.0.0.1:{port}"
        env = {**os.environ, "HOME": str(folder), "PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1"}
        commands = [
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--no-deps",
                "-q",
                "-d",
                str(folder),
                f"--index-url={at}/simple",
                "--retries=0",
                "--disable-pip-version-check",
                name,
            ]
            for name in asked.PYTHON
        ]
        commands += [["npm", "view", name, f"--registry={at}/npm", "--fetch-retries=0"] for name in asked.NODE]
        commands += [
            ["npm", "search", text, f"--registry={at}/npm", "--fetch-retries=0"] for text in texts.TYPED[:40:4]
        ]
        sources = folder / "sources.list"
        sources.write_text("".join(f"deb [trusted=yes] {at}/debian {suite} main contrib\n" for suite in asked.SUITES))
        state = [f"-oDir::State={folder}/apt", f"-oDir::Cache={folder}/apt", "-oAcquire::Retries=0"]
        (folder / "apt" / "lists" / "partial").mkdir(parents=True)
        commands.append(["apt-get", f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=-", *state, "update"])
        commands += [["curl", "-sg", "-o", os.devnull, f"{at}{path}"] for path in asked.DOWNLOADS]
        for command in commands:
            subprocess.run(command, env=env, cwd=folder, capture_output=True, timeout=PATIENCE, check=False)


def _index(method: str, uri: str, body: bytes) -> Reply:
    return Reply(404, "text/html", b"<!doctype html><title>404</title>")


def dashboards(tape: Tape, folder: Path) -> None:
    """Queries as dashboards, document stores, issue trackers and container hosts get them."""
    with tape.listening("dashboards") as port:
        client = requests.Session()
        at = f"http://127.0.0.1:{port}"
        for path, parameters in asked.queries():
            client.get(f"{at}{path}", params=parameters, timeout=PATIENCE)
        for uri in asked.READY_MADE:
            client.get(at + uri, timeout=PATIENCE)
        for number, query in enumerate(asked.GRAPHQL):
            variables = {"id": f"gid://shop/Product/{number}", "first": 10 + number, "name": texts.TYPED[number]}
            client.get(f"{at}/graphql", params={"query": query, "variables": json.dumps(variables)}, timeout=PATIENCE)


def sign_in(tape: Tape, folder: Path) -> None:
    """OAuth and OpenID Connect, with callbacks of sites and of programs on somebody's own machine; signed addresses."""
    with tape.listening("sign-in") as port:
        client = requests.Session()
        at = f"http://127.0.0.1:{port}"
        for number, (back, scope) in enumerate(product(asked.CALLBACKS, asked.SCOPES)):
            state = base64.urlsafe_b64encode(json.dumps({"n": number, "to": back, "from": "app"}).encode()).decode()
            challenge = base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
            query = {
                "response_type": "code",
                "client_id": f"app-{number}",
                "redirect_uri": back,
                "scope": scope,
                "state": state,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
                "prompt": "select_account",
                "nonce": f"n-{number}",
            }
            client.get(f"{at}/oauth2/authorize", params=query, timeout=PATIENCE)
            client.get(f"{at}/oauth2/callback", params={"code": f"4/0A{challenge}", "state": state}, timeout=PATIENCE)
            client.get(f"{at}/oauth2/sign_in", params={"rd": back}, timeout=PATIENCE)
            client.get(
                f"{at}/logout",
                params={"post_logout_redirect_uri": back, "next": f"/app?a=1&b={number}"},
                timeout=PATIENCE,
            )
        for number, name in enumerate(texts.TYPED[:60]):
            day, signature = f"202403{number % 28 + 1:02}", os.urandom(32).hex()
            query = {
                "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
                "X-Amz-Credential": f"AKIAEXAMPLE{number}/{day}/eu-west-1/s3/aws4_request",
                "X-Amz-Date": f"{day}T101112Z",
                "X-Amz-Expires": "3600",
                "X-Amz-SignedHeaders": "host",
                "response-content-disposition": f"attachment; filename*=UTF-8''{quote(name)}.pdf",
                "X-Amz-Signature": signature,
            }
            client.get(f"{at}/bucket/{quote(name, safe='')}.pdf?{urlencode(query)}", timeout=PATIENCE)
