"""A browser for the admin pages, and the engine's decision under the rows of the database."""

import time
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from django.conf import settings
from django.test import Client

from gatewall.credentials.check import PolicyCredentials, VerifiedTokens
from gatewall.credentials.guests import GuestVerifier
from gatewall.credentials.sessions import SessionVerifier
from gatewall.engine.evaluate import evaluate
from gatewall.policy import revisions
from gatewall.publication.store import DatabasePolicyStore
from gatewall.snapshot.host_paths import policy_files
from tests.support.cast import AUDIENCE, ISSUER, a_ports, a_request
from tests.support.proxies import enter_admin_site

ADMIN = f"{settings.ROOT_PATH}/admin"


class Fields(HTMLParser):
    """Collect the form values of a page, as a browser would send them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.values: dict[str, list[str]] = {}
        self._area: str | None = None
        self._select: str | None = None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        name, kind = attributes.get("name") or "", attributes.get("type", "text")
        if tag == "select":
            self._select = name
        elif tag == "option" and self._select and "selected" in attributes:
            self.values.setdefault(self._select, []).append(attributes.get("value", ""))
        elif tag == "textarea":
            self._area = name
            self.values[name] = [""]
        elif tag == "input" and name and (kind not in {"submit", "checkbox", "radio"} or "checked" in attributes):
            self.values.setdefault(name, []).append(attributes.get("value") or ("on" if kind == "checkbox" else ""))

    def handle_endtag(self, tag):
        if tag == "textarea":
            self._area = None
        elif tag == "select":
            self._select = None

    def handle_data(self, data):
        if self._area:  # a browser drops one newline at the start, and sends the others as CRLF
            self.values[self._area][0] += data.removeprefix("\n").replace("\n", "\r\n")


@dataclass
class Pages:
    """The admin pages as one user sees them; CSRF is checked."""

    client: Client = field(default_factory=lambda: Client(enforce_csrf_checks=True))

    def get(self, path):
        return self.client.get(f"{ADMIN}{path}")

    def submit(self, path, **values):
        """Fill in the form of a page and send it. None omits a field, like an unticked box."""
        sent = Fields(self.get(path).content.decode()).values
        for name, value in values.items():
            if value is None:
                sent.pop(name, None)
            else:
                sent[name] = list(map(str, value)) if isinstance(value, list) else [str(value)]
        return self.client.post(f"{ADMIN}{path}", {**sent, "_save": ["Save"]})

    def delete(self, path, **values):
        token = Fields(self.get(path).content.decode()).values["csrfmiddlewaretoken"]
        return self.client.post(f"{ADMIN}{path}", {"csrfmiddlewaretoken": token, "post": "yes", **values})

    def delete_chosen(self, path, *rows):
        return self.choose(path, "delete_selected", *rows)

    def choose(self, path, action, *rows):
        token = Fields(self.get(path).content.decode()).values["csrfmiddlewaretoken"][0]
        chosen = {"action": action, "_selected_action": [row.pk for row in rows], "post": "yes"}
        return self.client.post(f"{ADMIN}{path}", {"csrfmiddlewaretoken": token, **chosen})

    def words(self, response):
        """Return the text of the response's page, after a redirect if there is one."""
        if response.status_code == 302:
            response = self.client.get(response.url)
        return response.content.decode()


@pytest.fixture
def pages(alice):
    browser = Pages()
    enter_admin_site(browser.client, alice)
    return browser


@pytest.fixture
def decide(db):
    """Return a function that asks the engine, with the current rows and fake ports."""

    def ask(*, country=None, **parts):
        policy = DatabasePolicyStore(policy_files(settings.CONFIG)).load(revisions.current())
        verifier = SessionVerifier(settings.GATEWALL_JWT_KEYS, issuer=ISSUER, audience=AUDIENCE)
        guests = VerifiedTokens(GuestVerifier(settings.GATEWALL_JWT_KEYS))
        ports = a_ports(country=country, credentials=PolicyCredentials(VerifiedTokens(verifier), guests))
        return evaluate(a_request(at=time.time(), **parts), policy, ports).reason

    return ask
