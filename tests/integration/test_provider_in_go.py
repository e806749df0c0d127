"""Sign-in at a provider in another language: the certified library zitadel/oidc, built with Go (20 s the first time).

It differs from other providers of these tests: an issuer that ends with a slash, RS256, a session cookie of its own,
and no ``iss`` in the response.
"""

import http.cookiejar
import os
import re
import shutil
import subprocess
import urllib.request
from html import unescape
from pathlib import Path
from urllib.parse import urlencode, urljoin

import pytest

from accounts.identity_providers import services
from accounts.models import ExternalIdentity, Session, User
from accounts.openid.documents import documents
from gatewall.install.ports import free_port
from policies.groups.services import create_group
from tests.support.not_run import not_run
from tests.support.processes import is_listening, running, wait_until
from tests.support.provider_visits import answer_of, button
from tests.support.visitor import BACK, Visitor

pytestmark = [pytest.mark.django_db, pytest.mark.full]
SOURCE = Path(__file__).resolve().parents[1] / "openid_provider_go"
CALLBACK = "https://wall.example/wall/oidc/zitadel/callback"


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    go = shutil.which("go")
    if go is None:
        not_run("a provider in Go, because there is no Go (apt-get install golang)")
    built = tmp_path_factory.mktemp("provider") / "provider"
    command = [go, "build", "-mod=readonly", "-o", str(built), "."]
    made = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, timeout=600, check=False)
    assert made.returncode == 0, made.stderr
    return built


@pytest.fixture
def provider(binary, tmp_path, office):
    """Run the provider and register it; yield its issuer."""
    documents.forget()
    port = free_port()
    issuer, log = f"http://localhost:{port}/", tmp_path / "provider.log"
    staff = create_group(actor="alice", name="staff", authorized_domains=[office])
    with running([str(binary), issuer, f"127.0.0.1:{port}", CALLBACK], log=log, env=dict(os.environ)) as process:
        wait_until(lambda: is_listening(port) or process.poll() is not None, what="the provider")
        services.create_provider(
            actor="alice",
            slug="zitadel",
            name="Zitadel",
            issuer=issuer,
            client_id="gatewall",
            client_secret="secret",
            allow_private=True,
            create_users=True,
            groups_claim="email",
            mapped_groups={"test-user@zitadel.ch": [staff.pk]},
        )
        yield issuer


class Stop(urllib.request.HTTPRedirectHandler):
    """Follow redirects of the provider, and stop at the one back to us."""

    def redirect_request(self, request, fp, code, msg, headers, newurl):
        if newurl.startswith(CALLBACK):
            return None
        return super().redirect_request(request, fp, code, msg, headers, newurl)


def sign_in_there(url, username="test-user@localhost", password="verysecure"):
    """Sign in on the provider's own page; return its redirect, or its page after a wrong password."""
    jar = http.cookiejar.CookieJar()
    opener = urllib.request.build_opener(Stop, urllib.request.HTTPCookieProcessor(jar))
    with opener.open(url, timeout=30) as page:
        text, address = page.read().decode(), page.url
    [auth_request] = re.findall(r'name="id" value="([^"]+)"', text)
    form = urlencode({"id": unescape(auth_request), "username": username, "password": password}).encode()
    try:
        with opener.open(urljoin(address, "/login/username"), form, timeout=30) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as led:
        led.close()
        if led.code != 302:
            raise
        return led.headers["Location"]


def test_a_person_signs_in_twice_and_is_one_user_in_the_group(provider):
    for _ in range(2):
        visitor = Visitor()
        there = visitor.get("/oidc/zitadel", {"rd": BACK}).headers["Location"]
        assert there.startswith(f"{provider}auth?")
        back = sign_in_there(there)
        answer = visitor.get("/oidc/zitadel/callback", answer_of(back))
        assert (answer.status_code, answer.headers["Location"]) == (303, BACK)

    user = User.objects.get()
    assert (user.email, [group.name for group in user.groups.all()]) == ("test-user@zitadel.ch", ["staff"])
    identity = ExternalIdentity.objects.get()
    assert (identity.subject, identity.issuer) == ("id1", provider)
    assert {tuple(session.amr) for session in Session.objects.all()} == {("fed",)}
    signed_out = visitor.send("/sign-out")
    leave = visitor.get("/" + button(signed_out).partition("/wall/")[2])
    assert leave.headers["Location"].startswith(f"{provider}end_session?")
    assert visitor.get("/account").status_code == 303


def test_an_answer_is_taken_once_and_from_its_browser_alone(provider):
    visitor, thief = Visitor(), Visitor()
    back = answer_of(sign_in_there(visitor.get("/oidc/zitadel").headers["Location"]))

    assert thief.get("/oidc/zitadel/callback", back).status_code == 401
    stranger = visitor.get("/oidc/zitadel/callback", {**back, "code": f"{back['code']}x"})
    assert stranger.status_code >= 400
    assert visitor.get("/oidc/zitadel/callback", back).status_code == 401
    assert not Session.objects.exists()


def test_a_wrong_password_at_the_provider_signs_nobody_in(provider):
    assert "password wrong" in sign_in_there(Visitor().get("/oidc/zitadel").headers["Location"], password="wrong")
