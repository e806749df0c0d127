"""The Python examples of the page about signed identities, executed as they are printed."""

import asyncio
import re
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
from tests.support.cast import KEYS

PAGE = Path(__file__).resolve().parents[2] / "docs/signed-identity.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
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
    """Provide the module that the examples import, with the keys at an address of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), KeySetHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GATEWALL_KEYS", f"http://127.0.0.1:{server.server_port}/")
        patch.setitem(sys.modules, "gatewall_identity", example("def verified", "gatewall_identity"))
        yield
        server.shutdown()


@pytest.fixture(params=["django", "flask", "fastapi"])
def visit(request, verifies):
    """Return a function that visits the site of each framework with a token: status and subject."""
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


def test_signed_visitor_is_known(visit):
    assert visit(a_token()) == (200, "2")


@pytest.mark.parametrize(
    "token",
    [
        "",
        "made-up",
        a_token(aud="https://other.example.com"),
        a_token(iss="https://other.example.com"),
        a_token(exp=1_000_000_000),
        a_token()[:-4] + "AAAA",
    ],
    ids=["none", "made-up", "other site", "other issuer", "expired", "changed"],
)
def test_anything_else_is_refused(visit, token):
    assert visit(token) == (403, "")
