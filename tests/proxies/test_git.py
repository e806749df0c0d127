"""git through nginx with the shipped snippets to a real `git http-backend`, authenticated by a token of Gatewall."""

import http.client
import http.server
import os
import shutil
import subprocess
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from gatewall.install.ports import free_port
from tests.support.processes import PATIENCE, agent, control_plane, data_plane, nginx, prepare, request, wait_until
from tests.support.servers import Admin

USER_PASSWORD = "wrong donkey cell pin"
GIT = shutil.which("git") or ""
HOST = "127.0.0.1"  # git requests the path in its URL


class Repositories:
    """`git http-backend` as a web server: a CGI bridge that keeps the headers of the requests it got."""

    def __init__(self, root):
        self.root = root
        self.requests: list[http.client.HTTPMessage] = []
        bridge = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                bridge.requests.append(self.headers)
                path, _, query = self.path.partition("?")
                variables = {
                    "PATH": os.environ["PATH"],
                    "GIT_PROJECT_ROOT": str(root),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "REQUEST_METHOD": self.command,
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                    "REMOTE_USER": self.headers.get("Remote-User", ""),
                }
                sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                run = subprocess.run([GIT, "http-backend"], env=variables, input=sent, capture_output=True, check=True)
                head, _, body = run.stdout.partition(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode("ascii").split("\r\n"))
                self.send_response(int(fields.pop("Status", "200").split()[0]))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer  # noqa: N815 (names of http.server)

            def log_message(self, format, *args):  # noqa: A002 (name of http.server)
                """Log nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @contextmanager
    def serving(self):
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield self.server.server_port
        finally:
            self.server.shutdown()
            self.server.server_close()
            thread.join()


class Forge(NamedTuple):
    """A repository behind Gatewall, and the credentials of its users."""

    proxy: int
    repositories: Repositories
    admin: Admin
    tokens: dict[str, str]

    def url(self, user="", token=""):
        return f"http://{user}:{token}@{HOST}:{self.proxy}/repo.git" if user else f"http://{HOST}:{self.proxy}/repo.git"


@pytest.fixture(scope="module")
def forge(tmp_path_factory):
    home, control, auth = tmp_path_factory.mktemp("home"), free_port(), free_port()
    prepare(home)
    repositories = Repositories(tmp_path_factory.mktemp("repositories"))
    git("init", "--bare", "--initial-branch=main", "repo.git", home=repositories.root)
    git("config", "http.receivepack", "true", home=repositories.root / "repo.git")
    few = {"GATEWALL_WORKERS": "1"}
    with (
        agent(home),
        control_plane(home, control, **few),
        data_plane(home, auth, **few),
        repositories.serving() as site,
    ):
        admin = Admin(control)
        admin.post("/authorized-domains", name="other.example")
        users = {
            name: admin.post("/users", username=name, password=USER_PASSWORD, **scope)["id"]
            for name, scope in {
                "dora": {},
                "outsider": {"all_domains": False, "authorized_domains": ["other.example"]},
            }.items()
        }
        tokens = {name: admin.post(f"/users/{id_}/git-tokens", name="ci")["token"] for name, id_ in users.items()}
        expired = admin.post(f"/users/{users['dora']}/git-tokens", name="old", expires_at=in_a_moment())
        app = {"authorized_domains": [HOST], "path_prefixes": ["/repo.git"]}
        for name, scope in {"app": app, "other app": {**app, "path_prefixes": ["/other.git"]}}.items():
            tokens[name] = admin.post(f"/users/{users['dora']}/app-tokens", name=name, **scope)["token"]
        tokens |= {"expired": expired["token"], "license": admin.post("/licenses", name="farm")["token"]}
        with nginx(tmp_path_factory.mktemp("nginx"), gate=control, auth=f"127.0.0.1:{auth}", site=site) as proxy:
            built = Forge(proxy, repositories, admin, tokens)
            wait_until(lambda: fetch_refs(built, {"Service-License": tokens["license"]}).status == 200, what="tokens")
            wait_until(lambda: has_ended(built), what="a token's end")
            yield built


def in_a_moment():
    """Return a time, formatted for the API, that is still in the future when the API reads it and passes soon."""
    moment = datetime.now(UTC) + timedelta(seconds=6)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def has_ended(forge):
    return fetch_refs(forge, {"Service-Git-Token": f"dora:{forge.tokens['expired']}"}).status == 401


def fetch_refs(forge, headers):
    """Request the references of the repository as git does."""
    return request(forge.proxy, "/repo.git/info/refs?service=git-upload-pack", headers)


def git(*arguments, home, check=True):
    """Run git without the user's configuration and without a password prompt."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=Dora", "-c", "user.email=dora@office.example", "-c", "init.defaultBranch=main"]
    ask_nobody = ["-c", "credential.helper=", "-c", "core.askPass=true"]
    command = [GIT, *who, *ask_nobody, *arguments]
    run = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert not check or run.returncode == 0, run.stderr
    return run


def commit(folder, text):
    (folder / "file").write_text(text)
    git("add", "file", home=folder)
    git("commit", "-m", text, home=folder)


@pytest.fixture
def clone(forge, tmp_path):
    """Return a clone made with Dora's token in its URL, with one pushed commit."""
    git("clone", forge.url("dora", forge.tokens["dora"]), "clone", home=tmp_path)
    folder = tmp_path / "clone"
    commit(folder, tmp_path.name)
    git("push", "origin", "HEAD:main", home=folder)
    return folder


def test_clone_fetch_and_push_work_with_a_token_in_the_url(forge, clone, tmp_path):
    git("clone", forge.url("dora", forge.tokens["dora"]), "second", home=tmp_path)
    commit(clone, "newer")

    git("push", "origin", "HEAD:main", home=clone)
    git("fetch", "origin", home=tmp_path / "second")

    assert git("show", "origin/main:file", home=tmp_path / "second").stdout == "newer"


def test_token_never_reaches_the_repository_and_the_user_does(forge, clone):
    forge.repositories.requests.clear()

    git("fetch", "origin", home=clone)

    arrived = forge.repositories.requests
    assert arrived
    assert [headers["Authorization"] for headers in arrived] == [None] * len(arrived)
    assert not any("gwg_" in value for headers in arrived for value in headers.values())
    assert {headers["Remote-User"] for headers in arrived} == {"dora"}


def test_an_app_token_for_the_repository_clones_and_pushes(forge, tmp_path):
    git("clone", forge.url("dora", forge.tokens["app"]), "clone", home=tmp_path)
    commit(tmp_path / "clone", "with an app token")
    forge.repositories.requests.clear()

    git("push", "origin", "HEAD:main", home=tmp_path / "clone")

    arrived = forge.repositories.requests
    assert not any("gwp_" in value for headers in arrived for value in headers.values())
    assert {headers["Remote-User"] for headers in arrived} == {"dora"}


@pytest.mark.parametrize("name", ["clone", "push"])
def test_git_without_a_token_is_asked_for_one_and_fails(forge, clone, tmp_path, name):
    before = len(forge.repositories.requests)
    arguments = {"clone": ["clone", forge.url(), "x"], "push": ["push", forge.url(), "HEAD:main"]}[name]

    run = git(*arguments, home=clone, check=False)

    assert run.returncode == 128
    assert "Authentication failed" in run.stderr or "could not read Username" in run.stderr
    assert len(forge.repositories.requests) == before


def test_challenge_to_git_is_basic(forge):
    answer = fetch_refs(forge, {"User-Agent": "git/2.47"})

    assert (answer.status, answer.header("WWW-Authenticate")) == (401, 'Basic realm="Gatewall"')


@pytest.mark.parametrize(
    ("user", "token", "said"),
    [
        ("admin", "dora", "Authentication failed"),
        ("nobody", "dora", "Authentication failed"),
        ("dora", "expired", "Authentication failed"),
        ("dora", "license", "Authentication failed"),
        ("outsider", "outsider", "403"),
        ("dora", "other app", "403"),
        ("outsider", "app", "Authentication failed"),
    ],
)
def test_token_that_does_not_fit_is_refused(forge, tmp_path, user, token, said):
    before = len(forge.repositories.requests)

    run = git("clone", forge.url(user, forge.tokens[token]), "x", home=tmp_path, check=False)

    assert run.returncode == 128
    assert said in run.stderr
    assert len(forge.repositories.requests) == before


def test_token_that_was_deleted_is_refused_to_the_next_fetch(forge, clone):
    row = forge.admin.post("/users/1/git-tokens", name="short-lived")
    headers = {"Service-Git-Token": f"admin:{row['token']}"}
    wait_until(lambda: fetch_refs(forge, headers).status == 200, what="the token")
    git("remote", "set-url", "origin", forge.url("admin", row["token"]), home=clone)
    git("fetch", "origin", home=clone)

    forge.admin.delete(f"/users/1/git-tokens/{row['id']}")
    wait_until(lambda: fetch_refs(forge, headers).status == 401, what="its end")

    run = git("fetch", "origin", home=clone, check=False)
    assert (run.returncode, "Authentication failed" in run.stderr) == (128, True)


def test_license_in_a_header_lets_a_program_in_and_is_removed(forge):
    answer = fetch_refs(forge, {"User-Agent": "curl/8.5", "Service-License": forge.tokens["license"]})

    assert answer.status == 200
    assert answer.body.startswith(b"001e# service=git-upload-pack")
    assert forge.repositories.requests[-1]["Service-License"] is None
    assert forge.repositories.requests[-1]["X-Gatewall-Subject-Kind"] == "license"
