"""Other gateways and a WAF to measure beside Gatewall: built by Go, signed in at, each one process on one core."""

import base64
import gzip
import hashlib
import http.client
import os
import shutil
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jwt

from bench.servers import running
from gatewall.install.ports import free_port

_HERE = Path(__file__).resolve().parent
_PASSWORD = "peers-bench-password-1"
_VOUCH_KEY = "0123456789abcdef" * 4
_VOUCH = """
vouch:
  logLevel: error
  listen: 127.0.0.1
  port: {port}
  domains: [example.com]
  jwt: {{secret: "{key}"}}
  cookie: {{secure: false, domain: example.com}}
  session: {{key: "{key}"}}
oauth:
  provider: indieauth
  client_id: http://auth.example.com
  auth_url: https://indielogin.com/auth
  callback_url: http://vouch.example.com:9090/auth
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """A product: its Go module and version (or a folder of ours), what it is asked at, and what a yes is."""

    name: str
    module: str
    version: str
    path: str

    @property
    def binary(self) -> str:
        return self.name


OAUTH2_PROXY = Peer("oauth2-proxy", "github.com/oauth2-proxy/oauth2-proxy/v7", "v7.15.6", "/oauth2/auth")
VOUCH = Peer("vouch-proxy", "github.com/vouch/vouch-proxy", "v0.45.1", "/validate")
CORAZA = Peer("coraza", "", "v3.8.1 with CRS 4.25.0", "/")
PEERS = (OAUTH2_PROXY, VOUCH, CORAZA)
LEFT_OUT = {
    "Authelia": "its Go module lacks the pages that its build makes with npm",
    "tinyauth": "its Go module lacks the pages that its build makes with npm",
}


class NotBuiltError(Exception):
    """A peer could not be built; the message is the last line of Go's."""


def build(peer: Peer, folder: Path) -> Path:
    """Return the peer's binary in this folder, built by Go if it is not there yet. Raises NotBuiltError."""
    binary = folder / peer.binary
    if binary.exists():
        return binary
    if shutil.which("go") is None:
        raise NotBuiltError("there is no Go on this machine")
    folder.mkdir(parents=True, exist_ok=True)
    if peer.module:
        command, place = ["go", "install", f"{peer.module}@{peer.version}"], folder
    else:
        place = folder / "coraza_auth"
        shutil.copytree(_HERE / "coraza_auth", place, dirs_exist_ok=True)
        command = ["go", "build", "-o", str(binary), "."]
    _go(command, place, folder)
    built = folder / peer.module.removesuffix("/v7").rpartition("/")[2]
    if not binary.exists() and built.is_file():
        built.rename(binary)
    if not binary.exists():
        raise NotBuiltError("Go made no such binary")
    return binary


def _go(command: list[str], place: Path, folder: Path) -> None:
    environment = os.environ | {"GOBIN": str(folder), "GOTOOLCHAIN": "auto"}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own commands
    if done.returncode:
        raise NotBuiltError((done.stderr.strip().splitlines() or ["go failed"])[-1].strip())


@contextmanager
def serve(peer: Peer, binary: Path, folder: Path) -> Iterator[tuple[int, int]]:
    """Run the peer on one core; yield port and process id."""
    folder.mkdir(parents=True)
    port = free_port()
    if peer is OAUTH2_PROXY:
        digest = base64.b64encode(hashlib.sha1(_PASSWORD.encode()).digest()).decode()  # noqa: S324 - the format of htpasswd
        (folder / "htpasswd").write_text(f"bench:{{SHA}}{digest}\n")
        options = [
            f"--http-address=127.0.0.1:{port}",
            "--provider=github",
            "--client-id=x",
            "--client-secret=y",
            f"--cookie-secret={_VOUCH_KEY[:32]}",
            "--email-domain=*",
            "--reverse-proxy=true",
            "--trusted-proxy-ip=127.0.0.1",
            "--cookie-secure=false",
            "--upstream=static://202",
            "--set-xauthrequest=true",
            f"--htpasswd-file={folder}/htpasswd",
        ]
        health = "/ping"
    elif peer is VOUCH:
        (folder / "config").mkdir()
        (folder / "config" / "config.yml").write_text(_VOUCH.format(port=port, key=_VOUCH_KEY))
        options, health = ["-config", f"{folder}/config/config.yml"], "/healthcheck"
    else:
        options, health = [f"127.0.0.1:{port}"], "/"
    environment = {**os.environ, "GOMAXPROCS": "1", "VOUCH_ROOT": f"{folder}/"}
    with running([str(binary), *options], environment, port, health) as pid:
        yield port, pid


def sessions(peer: Peer, port: int, number: int) -> list[str]:
    """Return the cookies of this many sessions; of a WAF, which has none, any cookie."""
    if peer is OAUTH2_PROXY:
        return [_signed_in(port) for _ in range(number)]
    if peer is VOUCH:
        return [_vouch_token(each) for each in range(number)]
    return [f"session={each:032x}" for each in range(number)]


def _signed_in(port: int) -> str:
    """Sign in at oauth2-proxy with a password, as its own page does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    body = urllib.parse.urlencode({"username": "bench", "password": _PASSWORD, "rd": "/"})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Host": "app7.example.com"}
    connection.request("POST", "/oauth2/sign_in", body, headers)
    cookies = connection.getresponse().headers.get_all("Set-Cookie") or []
    connection.close()
    kept = [each.partition(";")[0] for each in cookies if each.startswith("_oauth2_proxy=")]
    if not kept:
        raise SystemExit("oauth2-proxy did not sign in")
    return kept[0]


def _vouch_token(number: int) -> str:
    """Return the cookie that vouch-proxy sets after a sign-in at a provider: it has no sign-in of its own."""
    claims = {
        "username": f"bench{number}@example.com",
        "CustomClaims": {},
        "PAccessToken": "",
        "PIdToken": "",
        "aud": "example.com,example.com",
        "exp": int(time.time()) + 14_000,
        "iss": "Vouch",
    }
    token = jwt.encode(claims, _VOUCH_KEY, algorithm="HS256")
    return "VouchCookie=" + base64.urlsafe_b64encode(gzip.compress(token.encode())).decode()
