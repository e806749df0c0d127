"""A running site whose policy is one of two documents; every answer of the data plane shows which."""

import http.client
import json
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import psutil

from gatewall.install.ports import free_port
from tests.support.processes import control_plane, data_plane, request, send, wait_until
from tests.support.servers import OFFICE, Admin, Verdict, about, ask

ONE, TWO = "one", "two"
BLOCKED = {ONE: "203.0.113.1", TWO: "203.0.113.2"}
WALL, OPEN, SHUT = Verdict(403, "client-blocked"), Verdict(200, "host-public"), Verdict(403, "host-not-authorized")
RIGHT = {ONE: {BLOCKED[ONE]: WALL, BLOCKED[TWO]: OPEN}, TWO: {BLOCKED[ONE]: SHUT, BLOCKED[TWO]: WALL}}
"""Answers by the address of the client. A mix of the policies would let the first in or refuse the second."""
UNSENT = (OSError, http.client.HTTPException)


def document(access: str, country: str, networks: str, *more: str, count: int = 400) -> str:
    blocked = [*more, *(f"{networks}.{number // 250}.{number % 250}" for number in range(count))]
    listed = "".join(f"- ip: {network}\n" for network in blocked)
    domain = f"- name: {OFFICE}\n  access: {access}\n"
    return (
        f"version: 1\naccess_rules: []\ndomains:\n{domain}blocklist:\n{listed}countries:\n- country_code: {country}\n"
    )


DOCUMENTS = {
    ONE: document("public", "NZ", "10.1", BLOCKED[ONE]),
    TWO: document("denied", "AQ", "10.2", BLOCKED[TWO]),
}


class Site:
    """A control plane with two workers and a data plane."""

    def __init__(self, home: Path, control: int, auth: int, master: int) -> None:
        self.home, self._control, self.auth, self._master = home, control, auth, master
        self.admin = Admin(control)
        self._exported: dict[str, str] = {}

    def post(self, path: str, **fields: Any) -> tuple[int, dict[str, Any]]:
        """Send a POST to the API; return status and object of the answer. Raises one of UNSENT."""
        try:
            return 200, send(self._control, self.admin.token, "POST", path, fields)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def sign_in(self, name: str) -> str:
        return Admin(self._control, name).token

    def revision(self) -> int:
        """Return the number of the last revision; retries while the database is locked after a kill."""
        found: list[dict[str, Any]] = []

        def has_answered() -> bool:
            status, body = self.post("/policy/document/compare", document="version: 1")
            assert status in {HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE}, body
            found.append(body)
            return status == HTTPStatus.OK

        wait_until(has_answered, what="the last revision")
        return int(found[-1]["revision"])

    def apply(self, text: str, **conditions: Any) -> int:
        """Apply a document to the current policy; return its revision, or the last one if nothing changes.

        Raises one of UNSENT if the database does not answer.
        """
        status, body = self.post("/policy/apply", document=text, if_revision=self.revision(), **conditions)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            raise http.client.HTTPException(body)
        assert status == 200, body
        return int(body["revision"] or self.revision())  # no revision if the policy equals the document

    def export(self) -> str:
        headers = {"Service-Authorization": self.admin.token}
        return request(self._control, "/wall/policy/document", headers).body.decode()

    def learn(self) -> None:
        """Apply both documents once, and keep the export of each."""
        for name in (ONE, TWO):
            self.apply(DOCUMENTS[name])
            self._exported[name] = self.export()

    def in_force(self) -> str:
        """Return which document equals the export, byte for byte; retries until the control plane answers."""
        found = []

        def has_answered() -> bool:
            with suppress(*UNSENT):
                found.append(self.export())
            return bool(found)

        wait_until(has_answered, what="the control plane")
        names = [name for name, text in self._exported.items() if text == found[0]]
        assert names, found[0]
        return names[0]

    def answers(self) -> dict[str, Verdict]:
        return {client: ask(self.auth, about(client=client)) for client in BLOCKED.values()}

    def workers(self) -> list[int]:
        return [child.pid for child in psutil.Process(self._master).children()]


@contextmanager
def servers(home: Path, **changes: Any) -> Iterator[Site]:
    """Run the planes of a prepared installation."""
    control, auth = free_port(), free_port()
    with (
        control_plane(home, control, **changes) as master,
        data_plane(home, auth, GATEWALL_WORKERS="1", **changes),
    ):
        yield Site(home, control, auth, master.pid)
