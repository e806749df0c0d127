"""``gatewall policy``: the document of this host, and over the API of a running Gatewall, with the same output."""

import io
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
from django.core.management import load_command_class

from gatewall.install.launcher import free_port
from gatewall.management.policy import running
from gatewall.management.policy.outcome import Exit
from gatewall.policy import revisions
from policies import services
from policies.document.export import export
from policies.document.schema import schema
from policies.models import AuthorizedDomain
from tests.support.processes import BASE, control_plane, prepare
from tests.support.servers import Admin

OTHER = "version: 1\ndomains:\n- name: a.example\n  access: two_factor\n- name: b.example\n"
WORDS = """\
domains:
  - c.example
  ~ a.example
      access: authenticated -> two_factor
  + b.example
"""


@pytest.fixture
def policy(capsys, monkeypatch):
    """Return a function that runs the command as ``manage.py`` does: exit code, output, lines of errors."""
    monkeypatch.setattr("django.core.management.base.connections", SimpleNamespace(close_all=lambda: None))

    def run(*arguments, stdin=b""):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            load_command_class("gatewall", "policy").run_from_argv(["gatewall", "policy", *arguments])
        except SystemExit as end:
            code = end.code
        found = capsys.readouterr()
        return code, found.out, found.err

    return run


@pytest.fixture
def two_domains(db):
    services.register_domain(actor="x", name="a.example", access="authenticated")
    services.register_domain(actor="x", name="c.example", access="authenticated")


def test_the_document_is_printed_as_it_is(policy, two_domains):
    assert policy("export") == (0, export().canonical().decode(), "")


def test_a_revision_of_before_is_printed(policy, two_domains):
    number, then = revisions.current().revision, export().canonical().decode()
    services.change_domain(AuthorizedDomain.objects.get(name="a.example"), actor="x", access="denied")

    assert policy("export", "--revision", str(number)) == (0, then, "")
    assert policy("export", "--revision", "4711")[0] == Exit.REFUSED


def test_the_schema_is_printed(policy, db):
    code, out, _ = policy("schema")

    assert (code, json.loads(out)) == (0, schema())


def test_drift_is_told_and_nothing_is_changed(policy, two_domains, tmp_path):
    before = export()
    file = tmp_path / "policy.yaml"
    file.write_text(OTHER)

    code, out, err = policy("drift", str(file))

    assert (code, err) == (Exit.CHANGES, "")
    assert out == f"{WORDS}Applying the document would make 3 changes to revision {revisions.current().revision}.\n"
    assert export() == before


def test_drift_of_standard_input_as_json(policy, two_domains):
    code, out, _ = policy("drift", "-", "--json", stdin=OTHER.encode())

    assert code == Exit.CHANGES
    assert {(each["action"], each["key"]) for each in json.loads(out)["changes"]} == {
        ("deleted", "c.example"),
        ("created", "b.example"),
        ("changed", "a.example"),
    }


def test_drift_in_a_loop_finds_an_edit_by_hand_and_its_end(policy, two_domains):
    document, codes = export().canonical(), []
    domain = AuthorizedDomain.objects.get(name="a.example")
    for access in ("authenticated", "denied", "public", "authenticated", "two_factor", "authenticated"):
        services.change_domain(AuthorizedDomain.objects.get(pk=domain.pk), actor="alice", access=access)
        codes.append(policy("drift", "-", stdin=document)[0])

    assert codes == [0, 3, 3, 0, 3, 0]


def test_every_fault_is_a_line_with_its_place(policy, db, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text('version: 1\ndomains:\n- name: a.example\n  access: open\n- "n\\e[31m": b.example\n')

    code, out, err = policy("drift", str(file))

    assert (code, out) == (Exit.REFUSED, "")
    assert [line.partition(": ")[0] for line in err.splitlines()] == [f"{file}:4:11", f"{file}:5:3"]
    assert err.replace("\n", "").isprintable()


@pytest.mark.parametrize("data", [b"\xff", b"x" * (8 * 1024 * 1024 + 1)])
def test_a_file_that_is_no_document_is_refused(policy, db, data):
    assert policy("drift", "-", stdin=data)[0] == Exit.REFUSED


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home, port = tmp_path_factory.mktemp("home"), free_port()
    prepare(home)
    with control_plane(home, port, GATEWALL_WORKERS="1"):
        admin = Admin(port)
        admin.post("/authorized-domains", name="a.example")
        token = admin.post("/api-tokens", name="ci", scopes=["policy:read"])["token"]
        yield SimpleNamespace(url=f"http://127.0.0.1:{port}/wall", admin=admin, token=token)


def remotely(server, *arguments, document=None, **environment):
    """Run the console command where nothing is configured; return exit code, output and errors."""
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


def test_over_the_api_nothing_is_configured_here(server):
    code, document, err = remotely(server, "export")

    assert (code, err) == (0, "")
    assert "- name: a.example\n" in document
    assert remotely(server, "drift", "-", document=document)[0] == 0
    code, out, err = remotely(server, "drift", "-", document="version: 1\ndomains: []\n")
    assert (code, out.splitlines()[0], err) == (3, "domains:", "")
    assert json.loads(remotely(server, "schema")[1])["title"] == "Gatewall policy document"


def test_over_the_api_a_document_is_refused_with_the_same_lines(server):
    code, out, err = remotely(server, "drift", "-", document="version: 1\ndomains: 7\n")

    assert (code, out, err) == (1, "", "-:2:10: /domains: a list of objects is needed\n")


def test_a_token_is_read_from_a_file_and_never_shown(server, tmp_path):
    file = tmp_path / "token"
    file.write_text(server.token + "\n")

    assert remotely(server, "export", "--token-file", str(file), GATEWALL_API_TOKEN="")[0] == 0
    for wrong in (server.token[:-1] + "x", "gwa_x"):
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


def test_without_a_token_nothing_is_asked(capsys):
    assert running.run_remotely(["export", "--url=https://wall.invalid"], {}) == 2
    assert "GATEWALL_API_TOKEN" in capsys.readouterr().err


def test_an_address_without_the_root_path_is_told_so(server):
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
    """Return the address of a server that redirects everything to itself, and the paths that it was asked for."""
    asked = []

    class Redirects(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            """Keep quiet."""

    with HTTPServer(("127.0.0.1", 0), Redirects) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()
