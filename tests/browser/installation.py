"""A whole Gatewall behind a real nginx, with a host of its own and three sites; and a browser to visit them."""

import json
import os
import re
import shutil
import sqlite3
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, BrowserType, ConsoleMessage, Page, Playwright

from gatewall.install.ports import free_port
from tests.support.mailbox import Mailbox, mail_server
from tests.support.processes import (
    PASSWORD,
    PATIENCE,
    api,
    control_plane,
    environment,
    prepare,
    running,
    send,
    wait_until,
)

SUFFIX, OTHER, WITHOUT_GUARD = "gate.test", "other.test", "third.test"
"""Parent domains: of the first guard page, of the second, and one without a guard page."""
_EXPECTED = (
    "the server responded with a status of 4",  # a page with an intended 401 or 403
    "Cross-Origin-Opener-Policy header has been ignored",  # without TLS
)
_SITES = {
    "office": "authenticated",
    "vault": "two_factor",
    "closed": "authenticated",
    "safe": "phishing_resistant",
}
"""The sites under the first parent, with the required access."""
_numbers = count(1)


@dataclass(frozen=True)
class Wall:
    """Addresses of the installation: sites under the parent domains of both guard pages, and under a third parent."""

    home: Path
    port: int
    control: int
    auth: int = 0
    token: str = field(default="", repr=False)
    """The token of a session of the first admin, to create users."""
    mailbox: Mailbox = field(default_factory=Mailbox, repr=False)
    """The sent mails."""

    def url(self, name: str, path: str = "/") -> str:
        """Return an address on ``wall`` (our own host), ``office``, ``vault`` or ``closed``."""
        return self.at(f"{name}.{SUFFIX}", path)

    def at(self, host: str, path: str = "/") -> str:
        """Return an address on any host, like ``app.other.test``."""
        return f"http://{host}:{self.port}{path}"

    def page(self, path: str = "/") -> str:
        """Return the address of one of our own pages."""
        return self.url("wall", f"/wall{path}")

    def a_user(self, **values: object) -> str:
        """Create a user who has no second factor yet; return the name."""
        name = f"visitor{next(_numbers)}"
        self.call("/users", username=name, **{"password": PASSWORD, "current_password": PASSWORD, **values})
        return name

    def an_invited_user(self) -> tuple[str, str]:
        """Invite a user by mail; return the name and the link in the mail."""
        name = f"visitor{next(_numbers)}"
        address = f"{name}@office.test"
        self.call("/users", username=name, invite=True, email=address, current_password=PASSWORD)
        return name, self.link_of_mail(address)

    def share_link(self, **values: object) -> str:
        """Make a share link of the site ``closed`` for a day; return it."""
        ends = (datetime.now(UTC) + timedelta(days=1)).isoformat()
        body = {"name": "Anna", "domain": f"closed.{SUFFIX}", "expires_at": ends, "password": PASSWORD, **values}
        return str(self.call("/share-links", **body)["link"])

    def link_for(self, name: str) -> str:
        """Return a link for a new password that an admin hands over."""
        [user] = [each for each in self.call(f"/users?search={name}")["results"] if each["username"] == name]
        body = {"hand_over": True, "password": PASSWORD}
        return str(self.call(f"/users/{user['id']}/password-reset", **body)["link"])

    def link_of_mail(self, address: str, path: str = "") -> str:
        """Wait for a mail to the address with a link to this path; return the link."""
        wait_until(lambda: f"/wall/{path}" in self.mailbox.link_to(address), what=f"a mail to {address}")
        return self.mailbox.link_to(address)

    def call(self, path: str, **values: object) -> Any:
        """Call the API as the first admin, with GET if there are no values; return the response."""
        call = urllib.request.Request(
            f"http://127.0.0.1:{self.control}/wall{path}",
            data=json.dumps(values).encode() if values else None,
            headers={"Content-Type": "application/json", "Service-Authorization": self.token},
        )
        with urllib.request.urlopen(call, timeout=PATIENCE) as response:  # noqa: S310 (loopback)
            return json.load(response)


@contextmanager
def installation(home: Path) -> Iterator[Wall]:
    """Run Gatewall with ``gatewall up``; yield its addresses."""
    prepare(home)
    names = ("GATEWALL_PORT", "GATEWALL_AUTH_PORT", "GATEWALL_DEMO_PORT")
    ports = {name: str(free_port()) for name in names}
    site, control, auth = (int(ports[name]) for name in ("GATEWALL_DEMO_PORT", "GATEWALL_PORT", "GATEWALL_AUTH_PORT"))
    wall = Wall(home, site, control, auth)
    log = home / "up.log"
    homes = ",".join(wall.at(f"wall.{parent}", "") for parent in (SUFFIX, OTHER))
    own = {"GATEWALL_PUBLIC_URL": homes, "GATEWALL_WORKERS": "1"}
    own["GATEWALL_CONFIRM_SECONDS"] = "10"  # a test waits for the reversal
    with ExitStack() as stack:
        mailbox, server = stack.enter_context(mail_server())
        own |= {"GATEWALL_SMTP_URL": f"smtp://127.0.0.1:{server.port}", "GATEWALL_MAIL_FROM": "gate@office.test"}
        command = [sys.executable, "manage.py", "up"]
        process = stack.enter_context(running(command, log=log, env=environment(home, **ports, **own)))
        wait_until(lambda: "\nready" in log.read_text() or process.poll() is not None, what="ready")
        assert process.poll() is None, log.read_text()[-4000:]
        for name, access in _SITES.items():
            api(wall.control, "/authorized-domains", name=f"{name}.{SUFFIX}", access=access)
        for host in (f"app.{OTHER}", f"tv.{OTHER}", f"app.{WITHOUT_GUARD}"):
            api(wall.control, "/authorized-domains", name=host)
        token = api(wall.control, "/login", username="admin", password=PASSWORD)["token"]
        send(wall.control, token, "PUT", "/system/settings", {"remember_device_days": 30})
        yield replace(wall, token=token, mailbox=mailbox)


@contextmanager
def without_admin(home: Path) -> Iterator[str]:
    """Yield the one-time link that an installation without an administrator prints."""
    prepare(home)
    (database,) = home.glob("*.sqlite3")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DELETE FROM accounts_user")
    with control_plane(home, free_port(), path="/health/live", GATEWALL_WORKERS="1"):
        link = re.search(r"within an hour at (\S+)", (home / "control.log").read_text())
        assert link is not None, "no link was printed"
        yield link[1]


def find_chromium() -> str | None:
    """Return the system's chromium, if any: preferably its headless shell, which takes a quarter less CPU."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    return next((found for name in names if (found := shutil.which(name))), None)


def launch(playwright: Playwright, executable: str) -> Browser:
    """Start the browser; all names of the installation resolve to this machine, and no other host is reachable."""
    return launch_with(playwright.chromium, executable)


def launch_with(chromium: BrowserType, executable: str, *options: str) -> Browser:
    """Start the browser with further command-line options."""
    rules = "--host-resolver-rules=MAP *.test 127.0.0.1, MAP *.localhost 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # chromium refuses to run as root with a sandbox
    arguments = [rules, *sandbox, *options]
    return chromium.launch(executable_path=executable, args=arguments, timeout=1000 * PATIENCE)


@dataclass
class Watch:
    """Errors of the browser: failed scripts, and violations of the content security policy."""

    complaints: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        """Listen to every page of the context."""
        context.on("console", self._note)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def _note(self, message: ConsoleMessage) -> None:
        expected = any(words in message.text for words in _EXPECTED)
        if message.type in {"error", "warning"} and not expected:
            self.complaints.append(message.text)


def sign_in(page: Page, name: str, password: str = PASSWORD) -> None:
    """Fill in the form of the guard page and send it."""
    page.fill("#username", name)
    page.fill("#password", password)
    page.click("button:not([type=button])")
