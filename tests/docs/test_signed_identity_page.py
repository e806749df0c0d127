"""The Python, JavaScript and Go examples of the page about signed identities, executed as printed."""

import asyncio
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType

import httpx
import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from gatewall.credentials.identity_keys import ES256, IdentityKeys
from gatewall.install.ports import free_port
from tests.support.cast import KEYS
from tests.support.not_run import not_run
from tests.support.processes import is_listening, running, wait_until

GO, EXPRESS = (Path(__file__).resolve().parents[1] / f"signed_identity_{name}" for name in ("go", "express"))
PAGE = Path(__file__).resolve().parents[2] / "docs/signed-identity.md"
BLOCKS = re.findall(r"^```(?:python|go|js)\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
SITE, ISSUER = "https://app.example.com", "https://wall.example.com"
SIGNS = IdentityKeys(KEYS)


class KeySetHandler(BaseHTTPRequestHandler):
    """Answers with the public keys."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(SIGNS.key_set)

    def log_message(self, *_):
        """Print nothing."""


def example(marker, name):
    """Execute the one block with this text as a module."""
    (block,) = [block for block in BLOCKS if marker in block]
    module = ModuleType(name)
    exec(compile(block, name, "exec"), module.__dict__)  # noqa: S102 - the page's own code
    return module


def a_token(**changes):
    now = int(time.time())
    return SIGNS.sign({"iss": ISSUER, "aud": SITE, "sub": "2", "iat": now, "exp": now + 120, **changes}, ES256)


@pytest.fixture(scope="module")
def verifies():
    """Provide the module that the examples import, with a key set served on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), KeySetHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GATEWALL_KEYS", f"http://127.0.0.1:{server.server_port}/")
        patch.setitem(sys.modules, "gatewall_identity", example("def verified", "gatewall_identity"))
        yield
        server.shutdown()


@pytest.fixture(params=["django", "flask", "fastapi"])
def visit(request, verifies):
    """Return a function that visits the site of each framework with a token and returns status and subject."""
    if request.param == "flask":
        client = example("Flask(__name__)", "flask_site").app.test_client()

        def by_flask(token):
            answer = client.get("/", headers={"X-Gatewall-Identity": token})
            return answer.status_code, answer.text if answer.status_code == 200 else ""

        return by_flask
    if request.param == "fastapi":
        transport = httpx.ASGITransport(app=example("FastAPI()", "fastapi_site").app)

        async def ask(token):
            async with httpx.AsyncClient(transport=transport, base_url=SITE) as client:
                return await client.get("/", headers={"X-Gatewall-Identity": token})

        def by_fastapi(token):
            answer = asyncio.run(ask(token))
            return answer.status_code, answer.json() if answer.status_code == 200 else ""

        return by_fastapi
    site = example("def identity_middleware", "django_site")
    answered = site.identity_middleware(lambda request: HttpResponse(request.identity["sub"]))

    def by_django(token):
        answer = answered(RequestFactory().get("/", HTTP_X_GATEWALL_IDENTITY=token))
        return answer.status_code, answer.content.decode() if answer.status_code == 200 else ""

    return by_django


def test_a_signed_visitor_is_identified(visit):
    assert visit(a_token()) == (200, "2")


WRONG = {
    "none": "",
    "made-up": "made-up",
    "other site": a_token(aud="https://other.example.com"),
    "other issuer": a_token(iss="https://other.example.com"),
    "expired": a_token(exp=1_000_000_000),
    "changed": a_token()[:-4] + "AAAA",
}


@pytest.mark.parametrize("token", WRONG.values(), ids=WRONG)
def test_invalid_tokens_are_refused(visit, token):
    assert visit(token) == (403, "")


@pytest.mark.full
def test_the_go_function_admits_only_signed_visitors(tmp_path, verifies):
    go, keys, port = shutil.which("go"), os.environ["GATEWALL_KEYS"], free_port()
    if go is None:
        not_run("the example in Go, because there is no Go (apt-get install golang)")
    (function,) = [block for block in BLOCKS if "func identified" in block]
    imports = 'import (\n"net/http"\n"github.com/lestrrat-go/jwx/v3/jwk"\n"github.com/lestrrat-go/jwx/v3/jwt"\n)\n'
    source = shutil.copytree(GO, tmp_path / "site")
    printed = re.sub(r'const keysURL = ".*"', f'const keysURL = "{keys}"', function)
    (source / "printed.go").write_text(f"package main\n{imports}{printed}", "utf-8")
    command = [go, "build", "-mod=readonly", "-o", "site", "."]
    made = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=600, check=False)
    assert made.returncode == 0, made.stderr

    refuses_others([str(source / "site"), f"127.0.0.1:{port}"], tmp_path / "log", port)


@pytest.mark.full
def test_the_express_lines_admit_only_signed_visitors(tmp_path, verifies):
    node, npm, port = shutil.which("node"), shutil.which("npm"), free_port()
    if node is None or npm is None:
        not_run("the example for Express, because there is no Node.js (apt-get install nodejs npm)")
    (printed,) = [block for block in BLOCKS if "jwtVerify" in block]
    source = shutil.copytree(EXPRESS, tmp_path / "site")
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    made = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=600, check=False)
    assert made.returncode == 0, made.stderr
    ours = re.sub(r'new URL\(".*"\)', f'new URL("{os.environ["GATEWALL_KEYS"]}")', printed)
    answer = 'app.get("/", (request, response) => response.send(request.identity.sub));'
    (source / "site.js").write_text(f'{ours}{answer}\napp.listen({port}, "127.0.0.1");\n', "utf-8")

    refuses_others([node, str(source / "site.js")], tmp_path / "log", port)


def refuses_others(command, log, port):
    """Start a site; assert that it lets in a signed visitor and refuses every wrong token."""
    with running(command, log=log, env=dict(os.environ)) as process:
        wait_until(lambda: is_listening(port) or process.poll() is not None, what="the site")

        def status(token):
            return httpx.get(f"http://127.0.0.1:{port}/", headers={"X-Gatewall-Identity": token}).status_code

        assert status(a_token()) == 200, log.read_text()
        assert {name: status(token) for name, token in WRONG.items()} == dict.fromkeys(WRONG, 403)
