"""Other gateways and a WAF to measure beside Gatewall: built by Go, signed in at, each one process on one core.

They log as they do by default, into a file: Gatewall's own record is part of its cost too.
"""

import base64
import gzip
import hmac
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jwt
from cryptography.hazmat.decrepit.ciphers.modes import CFB
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES

from bench.servers import running
from gatewall.install.ports import free_port

_HERE = Path(__file__).resolve().parent
_VOUCH_KEY = "0123456789abcdef" * 4
_OAUTH2_SECRET = _VOUCH_KEY[:32]
_LZ4_FRAME = bytes.fromhex("04224d18604082")
"""The head of a frame whose blocks are independent and at most 64 KiB."""
_VOUCH = """
vouch:
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
    """A product: its Go module and version (or a folder of ours), and the path of its subrequests."""

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
    """A peer could not be built; the message is the last line of Go's output."""


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
        options = [
            f"--http-address=127.0.0.1:{port}",
            "--provider=github",
            "--client-id=x",
            "--client-secret=y",
            f"--cookie-secret={_OAUTH2_SECRET}",
            "--email-domain=*",
            "--reverse-proxy=true",
            "--trusted-proxy-ip=127.0.0.1",
            "--cookie-secure=false",
            "--upstream=static://202",
            "--set-xauthrequest=true",
        ]
        health = "/ping"
    elif peer is VOUCH:
        (folder / "config").mkdir()
        (folder / "config" / "config.yml").write_text(_VOUCH.format(port=port, key=_VOUCH_KEY))
        options, health = ["-config", f"{folder}/config/config.yml"], "/healthcheck"
    else:
        options, health = [f"127.0.0.1:{port}"], "/"
    environment = {**os.environ, "GOMAXPROCS": "1", "VOUCH_ROOT": f"{folder}/"}
    with running([str(binary), *options], environment, port, health, log=folder / "log.txt") as pid:
        yield port, pid


def sessions(peer: Peer, number: int) -> list[str]:
    """Return the cookies of this many sessions; of a WAF, which has none, any cookie."""
    if peer is OAUTH2_PROXY:
        return [_oauth2_session(each) for each in range(number)]
    if peer is VOUCH:
        return [_vouch_token(each) for each in range(number)]
    return [f"session={each:032x}" for each in range(number)]


def _oauth2_session(number: int, **tokens: str) -> str:
    """Return the cookie that oauth2-proxy sets after a sign-in: MessagePack in an LZ4 frame, encrypted and signed.

    A sign-in with a password leaves a name; one at a provider ``at``, an access token, and ``it``, an ID token, too.
    """
    now, name = int(time.time()), f"bench{number}"
    texts = {"u": name, **({"e": f"{name}@example.com", "pu": name} if tokens else {}), **tokens}
    packed = bytes([0x81 + len(texts)]) + _packed("ca") + b"\xd7\xff" + struct.pack(">Q", now)
    packed += b"".join(_packed(name) + _packed(text) for name, text in texts.items())
    frame = _LZ4_FRAME + struct.pack("<I", len(packed) | 1 << 31) + packed + bytes(4)
    start = os.urandom(16)
    encryptor = Cipher(AES(base64.urlsafe_b64decode(_OAUTH2_SECRET)), CFB(start)).encryptor()
    value = base64.urlsafe_b64encode(start + encryptor.update(frame) + encryptor.finalize()).decode()
    signed = hmac.digest(_OAUTH2_SECRET.encode(), f"_oauth2_proxy{value}{now}".encode(), "sha256")
    return f"_oauth2_proxy={value}|{now}|{base64.urlsafe_b64encode(signed).decode()}"


def session_with_tokens() -> str:
    """Return a session of oauth2-proxy with an access token and an ID token as long as Google's."""
    access, identity = (base64.urlsafe_b64encode(os.urandom(size)).decode() for size in (165, 820))
    return _oauth2_session(0, at=access, it=identity)


def _packed(text: str) -> bytes:
    """Return a text of up to 65,535 bytes in MessagePack."""
    data = text.encode()
    return (bytes([0xA0 + len(data)]) if len(data) < 32 else b"\xda" + struct.pack(">H", len(data))) + data


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
