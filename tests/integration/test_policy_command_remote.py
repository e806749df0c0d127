"""``gatewall policy`` over the API of a running Gatewall, without any local configuration."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from gatewall.install.ports import free_port
from gatewall.management.policy import running
from tests.support.processes import BASE, control_plane, prepare
from tests.support.servers import Admin

OTHER = "version: 1\ndomains:\n- name: a.example\n  access: two_factor\n- name: b.example\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home, port = tmp_path_factory.mktemp("home"), free_port()
    prepare(home)
    with control_plane(home, port, GATEWALL_WORKERS="1"):
        admin = Admin(port)
        admin.post("/authorized-domains", name="a.example")
        token = admin.post("/api-tokens", name="ci", scopes=["policy:read", "logs:read"])["token"]
        yield SimpleNamespace(url=f"http://127.0.0.1:{port}/wall", admin=admin, token=token, home=home)


def remotely(server, *arguments, document=None, **environment):
    """Run the console command without local configuration; return exit code, output and errors."""
    environment = {"GATEWALL_API_TOKEN": server.token, **environment}
    found = subprocess.run(
        [sys.executable, str(BASE / "manage.py"), "policy", *arguments, "--url", server.url],
        cwd="/",
        env={"PATH": os.environ["PATH"], "GATEWALL_HOME": "/nowhere", **environment},
        input=document,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return found.returncode, found.stdout, found.stderr


def test_over_the_api_the_command_needs_no_local_configuration(server):
    code, document, err = remotely(server, "export")

    assert (code, err) == (0, "")
    assert "- name: a.example\n" in document
    assert remotely(server, "drift", "-", document=document)[0] == 0
    code, out, err = remotely(server, "drift", "-", document="version: 1\ndomains: []\n")
    assert (code, out.splitlines()[0], err) == (3, "domains:", "")
    assert json.loads(remotely(server, "schema")[1])["title"] == "Gatewall policy document"


def test_over_the_api_a_plan_is_made(server):
    code, out, err = remotely(server, "plan", "-", "--no-replay", document=OTHER)

    assert (code, err) == (3, "")
    assert "  + b.example" in out.splitlines()
    plan = json.loads(remotely(server, "plan", "-", "--no-replay", "--json", document=OTHER)[1])
    assert server.admin.get(f"/policy/plan/{plan['id']}")["digest"] == plan["digest"]


def test_over_the_api_a_document_is_applied(server):
    writing = server.admin.post("/api-tokens", name="apply", scopes=["policy:read", "policy:write"])["token"]
    as_writer = {"document": OTHER, "GATEWALL_API_TOKEN": writing}
    before = remotely(server, "export")[1]
    options = ("--confirm-within", "600", "--undo-if-refused", "3/10")

    assert remotely(server, "apply", "-", document=OTHER)[0] == 2  # a read-only token
    code, out, err = remotely(server, "apply", "-", *options, **as_writer)
    assert (code, err) == (0, "")
    assert "It is reverted in 600 seconds unless you confirm it." in out
    number = server.admin.get("/policy/revisions")["results"][0]["number"]
    assert f"Applied as revision {number}." in out
    server.admin.post(f"/policy/revisions/{number}/confirm")
    assert remotely(server, "apply", "-", **as_writer)[1].startswith("Nothing to do")
    server.admin.post("/authorized-domains", name="c.example")
    code, out, err = remotely(server, "apply", "-", "--if-revision", str(number), **as_writer)
    assert (code, out, err.split(":")[1].strip()) == (1, "", "stale")
    as_before = {**as_writer, "document": before}
    assert remotely(server, "apply", "-", "--force", **as_before)[0] == 0


def test_over_the_api_a_document_is_refused_with_the_same_lines(server):
    code, out, err = remotely(server, "drift", "-", document="version: 1\ndomains: 7\n")

    assert (code, out, err) == (1, "", "-:2:10: /domains: a list of objects is needed\n")


def test_a_token_that_expired_between_plan_and_apply_is_refused(server):
    document = remotely(server, "export")[1].replace("- name: a.example", "- name: z.example\n- name: a.example")
    token = server.admin.post("/api-tokens", name="short", scopes=["policy:read", "policy:write"])["token"]
    as_writer = {"document": document, "GATEWALL_API_TOKEN": token}
    assert remotely(server, "plan", "-", "--no-replay", **as_writer)[0] == 3
    with closing(sqlite3.connect(server.home / "gatewall.sqlite3", timeout=60)) as database, database:
        past = "datetime('now', '-1 minute')"
        database.execute(f"UPDATE accounts_apitoken SET expires_at = {past} WHERE name = 'short'")  # noqa: S608 - no text of others

    code, out, err = remotely(server, "apply", "-", **as_writer)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "not-authenticated" in err
    assert token not in err
    assert "z.example" not in remotely(server, "export")[1]


def test_repeated_drift_checks_over_the_api_detect_a_manual_edit_and_its_end(server):
    document, codes = remotely(server, "export")[1], []
    (row,) = server.admin.get("/authorized-domains?name=a.example")["results"]
    for remark in ("", "by hand", "by hand", ""):
        server.admin.put(f"/authorized-domains/{row['id']}", remark=remark)
        codes.append(remotely(server, "drift", "-", document=document)[0])

    assert codes == [0, 3, 3, 0]


def test_a_token_is_read_from_a_file_and_never_shown(server, tmp_path):
    file = tmp_path / "token"
    file.write_text(server.token + "\n")

    assert remotely(server, "export", "--token-file", str(file), GATEWALL_API_TOKEN="")[0] == 0
    for wrong in (server.token[:4] + server.token[4:].swapcase(), "gwa_x"):
        code, out, err = remotely(server, "export", GATEWALL_API_TOKEN=wrong)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert wrong not in err


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://wall.example.com/wall", "only https"),
        ("https://alice:secret@wall.example.com", "user"),
        ("file:///etc/passwd", "only https"),
        ("http://127.0.0.1:1/wall", "cannot be reached"),
    ],
)
def test_an_address_that_cannot_be_used_ends_with_2(url, words, capsys):
    code = running.run_remotely(["export", "--url", url], {"GATEWALL_API_TOKEN": "gwa_secret"})

    err = capsys.readouterr().err
    assert (code, err.count("\n")) == (2, 1)
    assert words in err
    assert "secret" not in err


def test_without_a_token_no_request_is_sent(capsys):
    assert running.run_remotely(["export", "--url=https://wall.invalid"], {}) == 2
    assert "GATEWALL_API_TOKEN" in capsys.readouterr().err


def test_an_address_without_the_root_path_is_an_error_that_names_it(server):
    other = SimpleNamespace(url=server.url.removesuffix("/wall"), token=server.token)

    code, _, err = remotely(other, "export")

    assert code == 2
    assert "root path" in err


def test_a_redirect_is_not_followed(upstream_redirect, capsys):
    url, asked = upstream_redirect

    assert running.run_remotely(["export", "--url", url], {"GATEWALL_API_TOKEN": "gwa_secret"}) == 2
    assert asked == ["/policy/document"]


@pytest.fixture
def upstream_redirect():
    """Return the address of a server that redirects every request to itself, and the requested paths."""
    asked = []

    class Redirects(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Redirects) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()
