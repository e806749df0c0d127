"""Drive a running Gatewall from outside: its API as an admin, `/auth` as a proxy, and load."""

import http.client
import json
import sqlite3
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple, Self

from audit.spool.segments import segment_files
from tests.support.processes import PASSWORD, PATIENCE, request
from tests.support.records import read_records

OFFICE = "office.example"
CLIENT = "198.51.100.7"
BLOCKED = "203.0.113.66"
ATTACK = "/?id=1%27%20UNION%20SELECT%20password%20FROM%20users--"
PAUSE = 0.01
"""Pause between two requests of a connection, to leave CPU to restarting processes: four ask 300 times a second."""
SESSION_VALID = (200, "session-valid")


class Verdict(NamedTuple):
    """The gate's answer."""

    status: int
    reason: str


Headers = dict[str, str]
RightAnswers = Sequence[tuple[Headers, Verdict]]


def about(*, client: str = CLIENT, host: str = OFFICE, uri: str = "/", **credentials: str) -> Headers:
    """Return the headers of a proxy's request; `_` for `-` in the names of credentials."""
    return {
        "X-Forwarded-For": client,
        "X-Forwarded-Host": host,
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Method": "GET",
        "X-Forwarded-Uri": uri,
        **{name.replace("_", "-"): value for name, value in credentials.items()},
    }


def ask(port: int, question: Headers) -> Verdict:
    """Send a request to `/auth` on a new connection."""
    answer = request(port, "/wall/auth", question)
    return Verdict(answer.status, answer.header("X-Gatewall-Reason"))


class Admin:
    """A user signed in to the API of a control plane; by default the first admin."""

    def __init__(self, port: int, username: str = "admin", password: str = PASSWORD, *, prefix: str = "/wall") -> None:
        self._port = port
        self._prefix = prefix
        self.token = ""
        self.token = self.post("/login", username=username, password=password)["token"]

    def get(self, path: str) -> dict[str, Any]:
        return self._call("GET", path, None)

    def post(self, path: str, **fields: Any) -> dict[str, Any]:
        return self._call("POST", path, fields)

    def put(self, path: str, **fields: Any) -> dict[str, Any]:
        return self._call("PUT", path, fields)

    def delete(self, path: str) -> dict[str, Any]:
        return self._call("DELETE", path, None)

    def _call(self, method: str, path: str, fields: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the object of a 2xx response."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        headers = {"Content-Type": "application/json", "Service-Authorization": self.token}
        try:
            body = None if fields is None else json.dumps(fields)
            connection.request(method, f"{self._prefix}{path}", body, headers)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        assert response.status // 100 == 2, (method, path, response.status, text)
        return json.loads(text) if text else {}


def furnish(port: int) -> str:
    """Create the rows that `right_answers()` needs; return the token of a valid session."""
    admin = Admin(port)
    admin.post("/authorized-domains", name=OFFICE)
    admin.post("/ip-black-list", ip=BLOCKED)
    return admin.token


def right_answers(token: str) -> RightAnswers:
    """Return requests to a furnished installation, each with its right answer."""
    valid = {"Service_Authorization": token}
    return [
        (about(**valid), Verdict(*SESSION_VALID)),
        (about(client=BLOCKED, **valid), Verdict(403, "client-blocked")),
        (about(Service_Authorization=token[:-6] + "AAAAAA"), Verdict(401, "credential-invalid")),
        (about(), Verdict(401, "credential-missing")),
        (about(host="unknown.example", **valid), Verdict(403, "host-not-authorized")),
        (about(uri=ATTACK, **valid), Verdict(403, "waf-rule")),
    ]


def wrong_answers(port: int, token: str, rounds: int = 4) -> list[tuple[Verdict, Verdict]]:
    """Send all requests several times, to reach every worker; return actual and expected answer where they differ."""
    both = [(ask(port, question), right) for _ in range(rounds) for question, right in right_answers(token)]
    return [(given, right) for given, right in both if given != right]


class Load:
    """Send requests continuously over keep-alive connections and check every answer.

    A broken connection counts as no answer, not as a wrong one: a proxy refuses then.
    """

    def __init__(self, port: int, right: RightAnswers, connections: int = 4) -> None:
        self._port = port
        self._right = right
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(connections)]
        self.decisions: list[str] = []
        self.wrong: list[tuple[Verdict, Verdict]] = []
        self.broken = 0

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        self.wait_for_more()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for_more(self, answers: int = 200, seconds: float = PATIENCE) -> None:
        """Return after this many more answers; fail on a timeout."""
        goal, deadline = len(self.decisions) + answers, time.monotonic() + seconds
        while len(self.decisions) < goal:
            assert time.monotonic() < deadline, f"{goal - len(self.decisions)} of {answers} answers did not come"
            time.sleep(0.02)

    def _run(self) -> None:
        while not self._stop.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
            try:
                self._ask_over(connection)
            except (OSError, http.client.HTTPException):
                self.broken += 1
                time.sleep(0.02)
            finally:
                connection.close()

    def _ask_over(self, connection: http.client.HTTPConnection) -> None:
        while not self._stop.is_set():
            for question, right in self._right:
                connection.request("GET", "/wall/auth", headers=question)
                response = connection.getresponse()
                response.read()
                given = Verdict(response.status, response.headers.get("X-Gatewall-Reason", ""))
                self.decisions.append(response.headers.get("X-Gatewall-Decision-Id", "none"))
                if given != right:
                    self.wrong.append((given, right))
                time.sleep(PAUSE)


def tell(config: Any, figure: str) -> None:
    """Print a measured figure in the test report, unless several processes run tests."""
    terminal = config.pluginmanager.getplugin("terminalreporter")
    if terminal is None:
        return
    with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        terminal.ensure_newline()
        terminal.write_line(f"  {figure}")


def recorded_decisions(home: Path) -> set[str]:
    """Return the ids of all decisions in the spool and, with SQLite, in the access log."""
    found: set[str] = set()
    for path in segment_files(home / "spool"):
        with suppress(FileNotFoundError):  # shipped meanwhile, so it is in the database, which is read next
            found.update(record.decision_id for record in read_records(path))
    with closing(sqlite3.connect(f"file:{home / 'gatewall.sqlite3'}?mode=ro", uri=True)) as database:
        found.update(str(uuid.UUID(id_)) for (id_,) in database.execute("SELECT decision_id FROM audit_accesslog"))
    return found
